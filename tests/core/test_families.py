# SPDX-License-Identifier: BSD-3-Clause
"""Families of checks: their order and their tags."""

import random

from fabric_checks.core import families


def test_families_of_the_collection_come_first_and_others_last():
    wanted = [*families.KNOWN, "Arctic", "Zebra", families.OTHERS]
    shuffled = random.Random(1).sample(wanted, len(wanted))
    assert sorted(shuffled, key=families.order) == wanted


def test_every_family_has_a_tag_of_its_own():
    tags = [families.tag(family) for family in families.KNOWN]
    assert len(set(tags)) == len(tags) and all(tag.replace("-", "").isalpha() for tag in tags)
