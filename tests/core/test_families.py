# SPDX-License-Identifier: BSD-3-Clause
"""The order of families in a report."""

from fabric_checks.core import families


def test_own_families_come_first_then_others_by_name_then_the_rest():
    titles = [families.OTHERS, "Storage", families.COLLECTIVES, "Batteries", families.PAIRS]
    ordered = [families.PAIRS, families.COLLECTIVES, "Batteries", "Storage", families.OTHERS]
    assert sorted(titles, key=families.order) == ordered
