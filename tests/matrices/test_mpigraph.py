# SPDX-License-Identifier: BSD-3-Clause
"""Both matrices of mpiGraph, and their checks."""

import pytest

from fabric_checks.matrices import formats
from tests.matrices import samples
from tests.matrices.reading import cells, refusal


def test_both_matrices_are_from_sender_to_receiver():
    send, receive = formats.parse(samples.MPIGRAPH)
    assert send.title == "(clock of the sender), 4K bytes"
    assert receive.title == "(clock of the receiver), 4K bytes"
    assert cells(send)["n0", "n1", 0] == pytest.approx(392.922 * 1.048576)
    assert cells(receive)["n1", "n0", 0] == pytest.approx(3.358 * 1.048576)
    assert len(send.rows) == len(receive.rows) == 6 and not send.alone


def test_a_step_of_the_ring_is_a_round():
    send, _ = formats.parse(samples.MPIGRAPH)
    found = sorted((row.round, row.sender.host, row.receiver.host) for row in send.rows)
    assert found[:3] == [(0, "n0", "n1"), (0, "n1", "n2"), (0, "n2", "n0")]


def test_several_tasks_of_a_host_are_kept_apart():
    assert ("n0 task 0", "n0 task 1", 0) in cells(
        formats.parse(samples.MPIGRAPH.replace("n1:1", "n0:1"))[0]
    )


@pytest.mark.parametrize(
    "old, new, cause",
    [
        ("END mpiGraph", "", "no line 'END mpiGraph': the run did not end"),
        ("START", "ST", "no header 'START mpiGraph'"),
        ("Send avg", "Send mean", "no matrix 'Send' after its greatest and mean value"),
        ("Procs\t3", "Procs\t4", "line 14: 4 tasks ran, but the columns of 'Send' are"),
        ("n1:1 to\t2757.658", "n1:1 to\t2767.658", "those of its matrix are 2767.658"),
        (
            "avg\t6.804284",
            "avg\t6.814284",
            "Recv has 1418.643846 as maximum and 6.814284 as mean",
        ),
        ("\t434.168", "\t434.17", "in the order of the columns, found 1"),
        ("n2:2 to\t", "n9:2 to\t", "line 17: the matrix is cut"),
        ("\t434.168\t", "\t", "line 16: the matrix is cut"),
        ("Send\tn0:0\tn1:1", "Send\tn1:1\tn0:0", "line 15: the matrix is cut"),
        (
            "END mpiGraph",
            "n9:9 from\t1.000\nEND mpiGraph",
            "in the order of the columns, found 4",
        ),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(old, new, cause):
    assert old in samples.MPIGRAPH
    assert cause in refusal(samples.MPIGRAPH.replace(old, new))
