# SPDX-License-Identifier: BSD-3-Clause
"""What a run costs, computed before it and measured after it, against what Slurm, a node's link and the disk say."""

import json
import os
import subprocess

import pytest

from tests.cluster.conftest import CI, Cluster
from tests.conftest import FABRIC_CHECKS
from tests.guard import GUARD_S

#: Two whose bytes are many and whose number is fixed, and one within a node.
CASES = "^(OsuCollective%benchmark=(alltoall|bcast)%layout=2x1|OsuBarrier%layout=1x2)$"
RUN = [CI / "run", "--system", "minicluster", "-n", CASES]
#: Computed may differ from measured by a quarter.
CLOSE = 0.25
#: Slurm tells times in whole seconds: of three jobs on two nodes it may be as many off, in node-minutes.
WHOLE_SECONDS = 3 * 2 / 60


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
    done = subprocess.run(
        [*RUN, *options, "--cost", "--json"], env=env, capture_output=True, text=True, timeout=GUARD_S
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def seen_by_others(cluster, folder):
    return {"node_minutes": by_slurm(cluster), "node_traffic_B": at_first_node(cluster), "disk_B": disk_B(folder)}


def run_again(cluster, folder):
    """Run once more; return what was computed before, what was recorded, what others saw, and what the run said."""
    estimate = computed(folder)
    assert estimate["rests"]["elapsed_s"] == {"own": 3}
    before = seen_by_others(cluster, folder)
    cluster.on("head", *RUN, FABRIC_RESULTS=str(folder), timeout=GUARD_S)
    seen = {name: after - before[name] for name, after in seen_by_others(cluster, folder).items()}
    recorded = [json.loads(line) for line in (folder / "costs.jsonl").read_text().splitlines()][-1]
    assert recorded["jobs"] == recorded["timed_jobs"] == recorded["traffic_jobs"] == 3
    assert recorded["computed"]["wall_minutes"] == estimate["wall_minutes"]
    said = cluster.on("head", FABRIC_CHECKS, "show", FABRIC_RESULTS=str(folder))
    return estimate, recorded, seen | {"wall_minutes": recorded["wall_minutes"]}, said


@pytest.mark.alone
def test_what_is_computed_is_what_is_measured(two, tmp_path, report_table):
    first = computed(tmp_path)
    assert (first["jobs"], first["nodes"], first["rests"]["elapsed_s"]) == (3, 2, {"time limit": 3})
    two.on("head", *RUN, FABRIC_RESULTS=str(tmp_path), timeout=GUARD_S)
    rows = []
    # Another load of the machine changes times, and nothing else: then it is run again.
    for _ in range(3):
        estimate, recorded, seen, said = run_again(two, tmp_path)
        rows += [
            f"{name}: computed {estimate.get(name, 'not')}, recorded {recorded[name]}, seen {seen[name]:.6g}"
            for name in seen
        ]
        assert "cost:     3 jobs, 2 nodes at most, " in said and "(computed " in said
        slack = dict.fromkeys(seen, 0) | {"node_minutes": WHOLE_SECONDS}
        assert all(abs(recorded[name] - seen[name]) < CLOSE * seen[name] + slack[name] for name in seen), rows
        assert abs(estimate["disk_B"] - seen["disk_B"]) < CLOSE * seen["disk_B"], rows
        if all(abs(estimate[name] - recorded[name]) < CLOSE * recorded[name] for name in seen.keys() & estimate.keys()):
            break
    else:
        pytest.fail("\n".join(rows))
    report_table("cost of a run, computed and measured", rows)


def test_a_run_of_which_nothing_is_known_is_bounded_and_leaves_nothing(tmp_path):
    found = computed(tmp_path, "--reruns=2")
    assert (found["passes"], found["jobs"]) == (3, 9)
    assert found["bounded_minutes"] == found["job_minutes"] == 9 * 10
    assert found["bounded_node_minutes"] == 3 * (2 * 2 + 1) * 10
    assert {path.name for path in tmp_path.rglob("*")} == {"costs.jsonl", ".lock"}
