# SPDX-License-Identifier: BSD-3-Clause
"""How long a test waits: that ends a test that hangs and judges nothing; what has to be soon is an order of
events."""

import functools
import time
import warnings

#: Longer than any bound of the programs themselves, which say more, and than a loaded machine takes.
GUARD_S = 600
#: How long something sleeps that a test waits to see ended: were it shorter, it would end by itself
#: meanwhile.
ENDLESS_S = 10 * GUARD_S


def wait_for(condition, what):
    """Return the first answer of a condition that is true.

    :param what: what is said if it never is: a text, or a function that returns it.
    """
    deadline = time.monotonic() + GUARD_S
    while not (answer := condition()):
        assert time.monotonic() < deadline, (
            f"after {GUARD_S} s: {what() if callable(what) else what}"
        )
        time.sleep(0.05)
    return answer


def despite_load(test):
    """Run a test again, at most twice, if it fails: other work on the machine may hide a fault that is small.

    What the program does wrong, it does wrong every time.
    """

    @functools.wraps(test)
    def repeated(*arguments, **named):
        for attempt in range(3):
            try:
                return test(*arguments, **named)
            except AssertionError as error:
                if attempt == 2:
                    raise
                warnings.warn(
                    f"{test.__name__}, attempt {attempt + 1}: {error}", stacklevel=1
                )

    return repeated
