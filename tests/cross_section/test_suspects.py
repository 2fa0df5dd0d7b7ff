# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes and pairs are measured again."""

import numpy as np
import pytest

from fabric_checks.cross_section import suspects
from tests.cross_section.model import Fabric


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
