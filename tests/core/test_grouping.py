# SPDX-License-Identifier: BSD-3-Clause
"""Items by a key."""

from fabric_checks.core.grouping import by_key


def test_keys_are_in_the_order_of_their_first_appearance_and_items_in_their_own():
    found = by_key(["n10", "m1", "n2", "m10"], lambda name: name[0])
    assert list(found.items()) == [("n", ["n10", "n2"]), ("m", ["m1", "m10"])]
    assert by_key([], len) == {}
