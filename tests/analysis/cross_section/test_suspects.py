# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes and pairs are measured again."""

import re

import numpy as np
import pytest

from fabric_checks.analysis.cross_section import suspects
from fabric_checks.parsers import rotate
from tests.analysis.cross_section.model import Fabric


def test_a_perfect_fabric_has_no_suspects():
    found = suspects.find(Fabric(32, 0.0, 1).scan(), 32, 0.06)
    assert (found.senders, found.receivers, len(found.pairs)) == ({}, {}, 0)
    assert found.overall_MBps == 1000


def test_a_slow_sender_is_suspect_and_its_pairs_are_not():
    found = suspects.find(Fabric(32, 0.0, 1, senders={3: 0.8}).scan(), 32, 0.06)
    assert found.senders == {3: pytest.approx(0.8)}
    assert not found.receivers and not len(found.pairs)


def test_a_slow_pair_is_suspect_and_its_nodes_are_not():
    fabric = Fabric(32, 0.0, 1, pairs={(3, 20): 0.8})
    scan = fabric.scan()
    found = suspects.find(scan, 32, 0.06)
    assert not found.senders and not found.receivers
    (position,) = found.pairs
    assert (scan.sender[position], scan.receiver[position]) == (3, 20)
    assert found.share == pytest.approx([0.8])


def test_a_pair_that_is_slower_than_its_slow_sender_is_suspect_too():
    found = suspects.find(Fabric(32, 0.0, 1, senders={3: 0.8}, pairs={(3, 20): 0.5}).scan(), 32, 0.06)
    assert found.share == pytest.approx([0.5])


def test_a_sender_offers_only_its_lowest():
    fabric = Fabric(128, 0.0, 1, pairs={(3, 64 + k): 0.5 + k / 100 for k in range(30)})
    scan = fabric.scan()
    found = suspects.find(scan, 128, 0.06)
    assert len(found.pairs) == suspects.OFFERS
    assert sorted(scan.receiver[found.pairs]) == list(range(64, 80))
    assert np.all(np.diff(found.share) >= 0)


@pytest.mark.parametrize("pattern", ["", ".shift", ".bisection"])
def test_the_program_suspects_the_same(golden, pattern):
    """What `rotate --confirm` measured again is what this rule suspects of its scan."""
    output = rotate.parse(golden(f"rotate/mpich-5.0.2{pattern}.txt"))
    found = suspects.find(output.scan, len(output.hosts), output.suspect_share)
    told = re.match(r"(\d+) pairs of \d+, (\d+) senders, (\d+) receivers", output.header["suspects"])
    assert (len(found.senders), len(found.receivers)) == (int(told[2]), int(told[3]))
    together = output.phases["together"]
    measured = set(zip(together.sender.tolist(), together.receiver.tolist(), strict=True))
    scan = output.scan
    suspected = {(int(scan.sender[k]), int(scan.receiver[k])) for k in found.pairs}
    assert suspected and suspected <= measured
    assert len(suspected) <= int(told[1])
