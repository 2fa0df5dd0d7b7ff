# SPDX-License-Identifier: BSD-3-Clause
"""What a run costs, computed before it and measured after it, against what Slurm, the links and the disk say."""

import json
import os
import subprocess

import pytest

from tests.cluster.conftest import CI, Cluster

#: Cases whose time is set, and whose bytes are many, beside short ones.
CASES = "^(StreamingQueue%layout=2x1%queue_depth=8|HotSpot%layout=2x1|ImbBarrier%layout=1x2|OsuBarrier%layout=2x1)$"
RUN = [CI / "run", "--system", "minicluster", "-n", CASES]
#: Computed may differ from measured by a quarter.
CLOSE = 0.25


@pytest.fixture(scope="module")
def two(machine):
    """A cluster of two nodes with links of 10 Gbit/s."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--rate", "10gbit")
    yield cluster
    cluster("down")


def at_first_node(cluster):
    """Return the bytes that went through the link of the first node so far, as its end on the bridge counts them."""
    text = cluster.on("head", "cat", "/proc/net/dev")
    (row,) = [line.split(":")[1].split() for line in text.splitlines() if line.strip().startswith("to-n1:")]
    return int(row[0]) + int(row[8])


def by_slurm(cluster):
    """Return the node-minutes of all jobs so far, by Slurm's accounting of whole seconds."""
    text = cluster.on("head", "sacct", "-aXnP", "--starttime=now-1hour", "--format=ElapsedRaw,NNodes,JobName")
    rows = [line.split("|") for line in text.splitlines()]
    return sum(int(seconds) * int(nodes) for seconds, nodes, _ in rows) / 60


def disk_B(folder):
    """Return what is on disk but for the costs themselves, as du counts it."""
    done = subprocess.run(["du", "-sb", "--exclude=costs.jsonl", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def computed(folder, *options):
    """Return what is computed outside of any cluster."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("FABRIC_CLUSTER")}
    env |= {"FABRIC_RESULTS": str(folder), "FABRIC_CLUSTER_NODES": "2", "FABRIC_CLUSTER_RATE": "10gbit"}
    done = subprocess.run([*RUN, *options, "--cost", "--json"], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_computed_is_what_is_measured(two, tmp_path, report_table):
    first = computed(tmp_path)
    assert (first["jobs"], first["nodes"], first["rests"]["elapsed_s"]) == (4, 2, {"time limit": 4})
    two.on("head", *RUN, FABRIC_RESULTS=str(tmp_path), timeout=200)
    estimate = computed(tmp_path)
    assert estimate["rests"]["elapsed_s"] == {"own": 4}
    before = {"node_minutes": by_slurm(two), "traffic_B": at_first_node(two), "disk_B": disk_B(tmp_path)}
    said = two.on("head", *RUN, FABRIC_RESULTS=str(tmp_path), timeout=200)
    after = {"node_minutes": by_slurm(two), "traffic_B": at_first_node(two), "disk_B": disk_B(tmp_path)}
    measured = [json.loads(line) for line in (tmp_path / "costs.jsonl").read_text().splitlines()][-1]
    assert measured["jobs"] == measured["timed_jobs"] == measured["traffic_jobs"] == 4
    assert measured["computed"]["wall_minutes"] == estimate["wall_minutes"]
    rows = []
    for name in after:
        seen = after[name] - before[name]
        rows.append(f"{name}: computed {estimate[name]}, recorded {measured[name]}, by others {seen:.6g}")
    wall = (estimate["wall_minutes"], measured["wall_minutes"])
    report_table(
        "cost of a run, computed and measured", [*rows, f"wall minutes: computed {wall[0]}, measured {wall[1]}"]
    )
    for name in after:
        seen = after[name] - before[name]
        assert abs(estimate[name] - seen) < CLOSE * seen, rows
        assert abs(measured[name] - seen) < CLOSE * seen, rows
    assert abs(wall[0] - wall[1]) < CLOSE * wall[1]
    assert "cost:     4 jobs, 2 nodes at most, " in said and "(computed " in said


def test_a_run_of_which_nothing_is_known_is_bounded_and_leaves_nothing(tmp_path):
    found = computed(tmp_path, "--reruns=2")
    assert (found["passes"], found["jobs"]) == (3, 12)
    assert found["bounded_minutes"] == found["job_minutes"] == 12 * 10
    assert found["bounded_node_minutes"] == 3 * (3 * 2 + 1) * 10
    assert {path.name for path in tmp_path.rglob("*")} == {"costs.jsonl"}
