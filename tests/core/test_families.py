# SPDX-License-Identifier: BSD-3-Clause
"""The order of families, and their tags."""

from fabric_checks.core import families


def test_families_of_others_come_after_those_of_the_collection():
    titles = [
        families.OTHERS,
        "Zeta",
        families.APPLICATIONS,
        "Alpha",
        families.PAIRS,
        families.OVERLAP,
    ]
    own = [families.PAIRS, families.OVERLAP, families.APPLICATIONS]
    assert sorted(titles, key=families.order) == [
        *own,
        "Alpha",
        "Zeta",
        families.OTHERS,
    ]


def test_a_tag_is_a_slug_of_the_words_before_a_colon():
    assert families.tag(families.OVERLAP) == "overlap"
    assert families.tag("My own, NEW family: whatever") == "my-own-new-family"
    assert len(set(map(families.tag, families.KNOWN))) == len(families.KNOWN)
