# SPDX-License-Identifier: BSD-3-Clause
"""Ports, live: links that lose and corrupt packets, another network than the named one, a rail that idles.

``lab/ports/trials.py`` repeats each.
"""

import os

import pytest

from lab.ports import trials, wires
from tests.cluster.conftest import Cluster
from tests.guard import despite_load

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="filters of packets are put on links by root only"
)


@pytest.fixture(scope="module")
def four_with_two_links(machine):
    cluster = Cluster()
    cluster("up", "--nodes", "4", "--rate", trials.RATE)
    wires.second_links(cluster)
    yield cluster
    cluster.end()


#: Small faults of a link, which other work on the machine may hide; nobody is to be blamed because of it.
SMALL = ["loss", "corruption"]


@pytest.mark.parametrize("kind", SMALL)
@despite_load
def test_a_small_fault_is_named(four_with_two_links, tmp_path, kind, report_table):
    hold_trial(four_with_two_links, tmp_path, kind, report_table)


@pytest.mark.parametrize(
    "kind", [kind for kind in trials.KINDS_OF_FAULTS if kind not in SMALL]
)
def test_what_is_wrong_is_named(four_with_two_links, tmp_path, kind, report_table):
    hold_trial(four_with_two_links, tmp_path, kind, report_table)


def hold_trial(four_with_two_links, tmp_path, kind, report_table):
    outcome, is_right = trials.trial(four_with_two_links, tmp_path, kind, "n3")
    report_table(f"ports: {kind}, n3", [str(outcome)])
    assert is_right, outcome
    # Nothing is read for long, and the record has each node.
    assert set(outcome.ports["nodes"]) == {"n1", "n2", "n3", "n4"}
    # Two rails are named where both may be used.
    assert bool(outcome.ports["rails"]) == (kind in ("healthy", "idle rail"))


#: The largest ratio of bytes counted to bytes that a program states: headers, acknowledgements, MPI's and
#: Slurm's own.
LARGEST_RATIOS = {
    "^Rotate%pattern=shift%layout=4x1$": 1.05,
    "^Streaming%layout=2x1$": 1.05,
    "^HotSpot%layout=4x1$": 1.2,
    "^BufferReuse%layout=2x1$": 1.05,
    "^Notification%wait=default%layout=2x1$": 3.0,
}


@pytest.mark.parametrize("case", LARGEST_RATIOS)
def test_ports_count_what_was_moved(four_with_two_links, tmp_path, case, report_table):
    outcome = trials.run(four_with_two_links, tmp_path, case=case)
    counted, moved = sum(outcome.ports["carried_B"].values()), outcome.ports["moved_B"]
    report_table(
        f"bytes counted over bytes moved, {case}",
        [f"{counted} / {moved} = {counted / moved:.4f}"],
    )
    assert outcome.reason is None and 1 <= counted / moved <= LARGEST_RATIOS[case]
