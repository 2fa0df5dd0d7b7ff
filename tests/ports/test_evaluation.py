# SPDX-License-Identifier: BSD-3-Clause
"""The evaluation of the ports of a job as a whole."""

import json

from fabric_checks.ports.evaluation import evaluate
from tests.ports.samples import node, nodes, port, texts


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
        "slowest_ms": 0.0,
    }


def test_unknown_nodes_are_reported_once_and_prove_nothing():
    unknown = {f"n{i}": "it left no file" for i in (5, 6)}
    said = evaluate(nodes(), unknown, fabric=["mlx5_*"], moved_B=1000)
    assert texts(said.findings) == [
        "nodes n5, n6: nothing is known about the ports: it left no file"
    ]
    assert said.disproof is None
    assert evaluate([], unknown).record["slowest_ms"] is None


def test_errors_are_kept_in_the_record_even_of_ports_that_carry_nothing():
    ports = (
        port(),
        port("eth1", sent_MB=0, received_MB=0, grown={"rx_errs": 5}),
        port("lo", stacked=True),
    )
    record = evaluate([node("n1", *ports)], {}).record
    assert record["nodes"]["n1"].keys() == {"eth0", "eth1"}
    assert record["nodes"]["n1"]["eth1"]["errors"] == {"rx_errs": 5}
