# SPDX-License-Identifier: BSD-3-Clause
"""The evaluation of the ports of a job as a whole."""

import json

import pytest

from fabric_checks.parsers.placement import RankPlace
from fabric_checks.ports.evaluation import evaluate
from tests.ports import pcie
from tests.ports.samples import node, nodes, port, texts

IB = ["mlx5_*"]


def ranks(count=8, ppn=8):
    """Return the ranks of nodes n1, n2, ..."""
    names = [f"n{at + 1}" for at in range(count) for _ in range(ppn)]
    return [
        RankPlace(rank, name, name, "0", frozenset()) for rank, name in enumerate(names)
    ]


def found(nodes, **more):
    return evaluate(
        nodes, {}, fabric=IB, **{"ranks": ranks(len(nodes))} | more
    ).findings


def test_a_healthy_job():
    said = evaluate(nodes(), {}, fabric=["eth0"], link_MBps=125.0, moved_B=390_000_000)
    assert said.findings == []
    assert said.disproof is None
    assert json.loads(json.dumps(said.record)) == {
        "nodes": {
            f"n{i}": {
                "eth0": {
                    "sent_B": 100_000_000,
                    "received_B": 100_000_000,
                    "rate_MBps": 125.0,
                }
            }
            for i in range(1, 5)
        },
        "carried_B": {"eth0": 400_000_000},
        "moved_B": 390_000_000,
        "fabric": ["eth0"],
        "rails": {},
    }


def test_unknown_nodes_are_reported_once_and_prove_nothing():
    unknown = {f"n{i}": "it left no file" for i in (5, 6)}
    said = evaluate(nodes(), unknown, fabric=["mlx5_*"], moved_B=1000)
    assert texts(said.findings) == [
        "nodes n5, n6: nothing is known about the ports: it left no file"
    ]
    assert said.disproof is None


def test_errors_are_kept_in_the_record_even_of_ports_that_carry_nothing():
    ports = (
        port(),
        port("eth1", sent_MB=0, received_MB=0, grown={"rx_errs": 5}),
        port("lo", stacked=True),
    )
    record = evaluate([node("n1", *ports)], {}).record
    assert record["nodes"]["n1"].keys() == {"eth0", "eth1"}
    assert record["nodes"]["n1"]["eth1"]["errors"] == {"rx_errs": 5}


def test_a_healthy_machine_of_gpus_is_quiet():
    done = evaluate(pcie.job(), {}, fabric=IB, ranks=ranks())
    assert done.findings == []
    assert done.record["rails"]["n3"]["mlx5_6:1"] == pytest.approx(1 / 8)


@pytest.mark.parametrize("count", [1, 2])
def test_without_a_majority_nobody_is_blamed(count):
    nodes = pcie.job(count, n1={"at": lambda rail: 7 - rail, "share": {3: 0.5}})
    assert [each for each in found(nodes) if each.is_fault] == []


def test_rails_that_are_uneven_everywhere_are_not_compared():
    uneven = {rail: 1 / (1 + rail) for rail in range(8)}
    assert found(pcie.job(**{f"n{at}": {"share": uneven} for at in range(1, 9)})) == []


def test_rails_of_gpus_without_a_rank_may_idle():
    idle = {rail: 0 for rail in range(1, 8)}
    nodes = pcie.job(2, n1={"share": idle}, n2={"share": idle})
    assert found(nodes, ranks=ranks(2, 1)) == []
    assert len(found(nodes, ranks=ranks(2, 8))) == 7
