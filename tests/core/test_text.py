# SPDX-License-Identifier: BSD-3-Clause
"""Values and names as users read them."""

import pytest

from fabric_checks.core import text


@pytest.mark.parametrize(
    "value, shown",
    [
        (0, "0"),
        (0.00012345, "0.000123"),
        (1.23456, "1.235"),
        (99.999, "100"),
        (1234.5, "1234"),
        (1e7, "10000000"),
    ],
)
def test_values_have_four_digits_and_no_exponent(value, shown):
    assert text.value_text(value) == shown


def test_names_cannot_move_the_cursor():
    assert text.printable("n\x1b[2J1\u202e\n") == "n?[2J1?\n"
