# SPDX-License-Identifier: BSD-3-Clause
"""Read tables of pairs in tests."""

import pytest

from fabric_checks.core.errors import OutputError


def cells(table):
    """Return the values of a table by sender, receiver and repeat."""
    columns = zip(table.sender, table.receiver, table.repeat, table.value, strict=True)
    return {
        (str(table.ends[one]), str(table.ends[other]), int(repeat)): round(float(value), 6)
        for one, other, repeat, value in columns
    }


def refusal(reader, text):
    """Return the message with which a reader refuses a text; fail if it does not, or in several lines."""
    with pytest.raises(OutputError) as caught:
        reader.parse(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)
