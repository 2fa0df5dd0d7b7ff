# SPDX-License-Identifier: BSD-3-Clause
"""How long a test waits: that ends a test that hangs and judges nothing; what has to be soon is an order of events."""

import time

#: Longer than any bound of the programs themselves, which say more, and than a loaded machine takes.
GUARD_S = 600


def wait_for(condition, what):
    """Return the first answer of a condition that is true.

    :param what: what is said if it never is: a text, or a function that returns it.
    """
    deadline = time.monotonic() + GUARD_S
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"after {GUARD_S} s: {what() if callable(what) else what}"
        time.sleep(0.05)
    return answer
