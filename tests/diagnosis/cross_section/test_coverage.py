# SPDX-License-Identifier: BSD-3-Clause
"""What a run did not measure, in words."""

from fabric_checks.diagnosis.cross_section.coverage import MOST_NAMES, listed


def test_many_names_are_cut_and_few_are_not():
    names = [f"n{number}" for number in range(MOST_NAMES + 1)]
    assert listed(names[:-1]) == "n0, n1, n2, n3, n4, n5"
    assert listed(names) == "n0, n1, n2, n3, n4 and 2 more"
