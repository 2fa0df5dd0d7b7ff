# SPDX-License-Identifier: BSD-3-Clause
"""Read tables of pairs in tests."""

from collections import Counter

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import formats


def cells(table):
    """Return the values of a table by sender, receiver and repeat."""
    found, seen = {}, Counter()
    for sender, receiver, value, *_ in table.rows:
        found[str(sender), str(receiver), seen[sender, receiver]] = round(value, 6)
        seen[sender, receiver] += 1
    return found


def refusal(text):
    """Return the message with which a text is refused; fail if it is not, or in several lines."""
    with pytest.raises(OutputError) as caught:
        formats.parse(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)
