# SPDX-License-Identifier: BSD-3-Clause
"""Segments that get lost, and the host with the faulty link."""

import pytest

from fabric_checks.ports.tcp import culprits, lost_segments
from tests.ports.samples import nodes


def only(*args, **changed):
    (found,) = lost_segments(nodes(*args, **changed))
    return found


def test_healthy_nodes_are_quiet():
    assert lost_segments(nodes()) == []
    # Late answers are no losses, and neither are few of many.
    assert lost_segments(nodes(n2={"RetransSegs": 300, "TCPDSACKRecv": 299})) == []
    assert lost_segments(nodes(n2={"RetransSegs": 61, "OutSegs": 3_235_936})) == []
    assert (
        lost_segments(
            nodes(n2={"RetransSegs": 59, "OutSegs": 100_000}, n3={"TCPOFOQueue": 4})
        )
        == []
    )
    assert lost_segments(nodes(n2={"RetransSegs": 9, "OutSegs": 100})) == []


def test_segments_that_a_busy_machine_sends_again_are_not_lost():
    """As counted during eight busy loops on four cores, without a fault: packets of 45 segments out of
    order."""
    quiet = {
        "RetransSegs": 1,
        "TCPDSACKRecv": 1,
        "TCPDSACKRecvSegs": 1,
        "TCPLossProbes": 1,
        "OutSegs": 110_000,
    }
    late = {
        "RetransSegs": 293,
        "TCPDSACKRecv": 7,
        "TCPDSACKRecvSegs": 271,
        "TCPOFOQueue": 9,
        "TCPSackRecovery": 6,
    }
    late |= {"OutSegs": 163_895, "TCPLossProbes": 4}
    near = {
        "RetransSegs": 136,
        "TCPDSACKRecv": 4,
        "TCPDSACKRecvSegs": 136,
        "TCPSackRecovery": 3,
        "OutSegs": 108_896,
    }
    other = quiet | {"TCPOFOQueue": 13}
    assert lost_segments(nodes(n1=near, n2=late, n3=quiet, n4=other)) == []
    # A kernel that counts answers only: each stands for what was sent again at a time.
    without = {
        name: count for name, count in late.items() if name != "TCPDSACKRecvSegs"
    }
    assert lost_segments(nodes(n1=near, n2=without, n3=quiet, n4=other)) == []
    # Segments that are not taken back are lost, but 12 packets of 45 segments are 12 events, and 2 are 2.
    lost = late | {"TCPDSACKRecvSegs": 22}
    assert lost_segments(nodes(n1=near, n2=lost, n3=quiet, n4=other)) == []
    assert only(
        n2=lost
        | {
            "RetransSegs": 562,
            "TCPSackRecovery": 12,
            "TCPLossProbes": 0,
            "OutSegs": 53_555,
        }
    ).hosts


def test_a_finding_of_lost_segments_names_the_host_and_its_counters():
    found = only(
        n3={"RetransSegs": 1000},
        n1={"TCPOFOQueue": 300},
        n2={"TCPOFOQueue": 280},
        n4={"TCPOFOQueue": 330},
    )
    assert found.hosts == ("n3",) and found.is_fault
    assert (
        found.text
        == "node n3: segments were lost: up to 1 % of the TCP segments of a node; 1000 were"
        " retransmitted, most by n3; missed mostly by n4 (TCPOFOQueue 910)"
    )


LOSSY = {"RetransSegs": 900, "TCPOFOQueue": 310}
OTHER = {"RetransSegs": 300, "TCPOFOQueue": 100}


@pytest.mark.parametrize(
    "changed, text",
    [
        # As measured: its partners send again.
        (
            {
                "n1": {"RetransSegs": 1704},
                "n2": {"RetransSegs": 1640},
                "n3": {"TCPOFOQueue": 936},
            },
            "node n3: segments were lost",
        ),
        (
            dict.fromkeys(("n1", "n2", "n4"), OTHER) | {"n3": LOSSY},
            "node n3: segments were lost",
        ),
        (
            {
                **{f"n{i}": {"RetransSegs": 40} for i in (1, 2, 4)},
                "n3": {"InCsumErrors": 120},
            },
            "node n3: segments arrived with a wrong checksum",
        ),
    ],
    ids=["receives", "both ways", "checksum"],
)
def test_the_host_of_lost_segments_is_named(changed, text):
    found = only(**changed)
    assert found.hosts == ("n3",) and found.text.startswith(text)
    assert found.data["counter"] == (
        "InCsumErrors" if "checksum" in text else "RetransSegs"
    )


def test_between_two_hosts_both_are_named():
    found = only(2, n1={"RetransSegs": 1000}, n2={"TCPOFOQueue": 300})
    assert found.hosts == ("n1", "n2") and found.text.startswith(
        "between n1 and n2: segments were lost"
    )


def test_what_is_lost_between_two_of_many_hosts_blames_nobody():
    """As where the queue of one overflows: a link that loses has other partners, too."""
    found = only(
        n1={"RetransSegs": 271, "TCPOFOQueue": 60},
        n4={"TCPOFOQueue": 460},
        n2={"TCPOFOQueue": 171},
    )
    assert found.hosts == ("n1", "n4") and not found.is_fault


def test_loss_everywhere_blames_nobody():
    busy = {"RetransSegs": 1000, "TCPOFOQueue": 300}
    found = only(n1=busy, n2=busy, n3=busy, n4=busy)
    assert found.hosts == ()
    assert not found.is_fault
    assert "no host stands out" in found.text


@pytest.mark.parametrize("count", [3, 4, 8, 64])
def test_the_two_shares_are_one_for_the_host_with_the_link(count):
    names = [f"n{i}" for i in range(count)]
    for out in (0.0, 0.5, 1.0):
        again = {name: 1000 * (1 - out) / (count - 1) for name in names} | {
            "n0": 1000 * out
        }
        missed = {name: 300 * out / (count - 1) for name in names} | {
            "n0": 300 * (1 - out)
        }
        assert culprits(again, missed) == ["n0"], (count, out)
