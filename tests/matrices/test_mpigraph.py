# SPDX-License-Identifier: BSD-3-Clause
"""Both matrices of mpiGraph, and their checks."""

import pytest

from fabric_checks.matrices import mpigraph
from tests.matrices import samples
from tests.matrices.reading import cells, refusal


def test_both_matrices_are_from_sender_to_receiver():
    send, receive = mpigraph.parse(samples.MPIGRAPH)
    assert (send.title, receive.title) == ("4 KiB, clock of the sender", "4 KiB, clock of the receiver")
    assert cells(send)["n0", "n1", 0] == pytest.approx(392.922 * 1.048576)
    assert cells(receive)["n1", "n0", 0] == pytest.approx(3.358 * 1.048576)
    assert len(send) == len(receive) == 6
    assert not send.alone


def test_a_step_of_the_ring_is_a_round():
    send, _ = mpigraph.parse(samples.MPIGRAPH)
    assert sorted(zip(send.round, send.sender, send.receiver, strict=True))[:3] == [(0, 0, 1), (0, 1, 2), (0, 2, 0)]


def test_several_tasks_of_a_host_are_kept_apart():
    text = samples.MPIGRAPH.replace("n1:1", "n0:1")
    assert ("n0 task 0", "n0 task 1", 0) in cells(mpigraph.parse(text)[0])


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("END mpiGraph", "", "one header and one last line 'END mpiGraph' were expected"),
        ("Procs\t3", "Procs\t4", "one matrix 'Send' of 4 tasks after its greatest and mean value was expected"),
        ("n1:1 to\t2757.658", "n1:1 to\t2767.658", "by the matrix 'Send' '2767.445993' should be 2767.658"),
        ("avg\t6.804284", "avg\t6.814284", "by the matrix 'Recv' '6.814284' should be 6.804"),
        ("\t434.168", "\t434.17", "'434.17' of 'n1:1 to' is not a bandwidth with three decimals"),
        ("n0:0 to\t0.000", "n0:0 to\t7.000", "'7.000' of 'n0:0 to' is not a bandwidth"),
        ("n2:2 to\t", "n9:2 to\t", "the matrix 'Send' has other rows than columns"),
        ("\t434.168\t", "\t", "the matrix 'Send' has other rows than columns, or a row of another length"),
        ("Send\tn0:0\tn1:1", "Send\tn1:1\tn0:0", "3 tasks ran, but the columns of 'Send' are"),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(old, new, cause):
    assert old in samples.MPIGRAPH
    assert cause in refusal(mpigraph, samples.MPIGRAPH.replace(old, new))
