# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a run, computed before it and measured after it, against Slurm's accounting."""

import json
import os

import pytest

from tests import programs
from tests.cluster.conftest import CI, cluster_of
from tests.conftest import FABRIC_CHECKS
from tests.guard import GUARD_S, wait_for

#: Two whose bytes are many and whose number is fixed, and one within a node.
CASES = "^(OsuCollective%benchmark=(alltoall|bcast)%layout=2x1|OsuBarrier%layout=1x2)$"
RUN = [CI / "run", "--system", "minicluster", "-n", CASES]
#: Computed may differ from measured by a quarter.
CLOSE = 0.25
#: Slurm tells times in whole seconds: of three jobs on two nodes it may be as many off, in node-minutes.
WHOLE_SECONDS = 3 * 2 / 60


def by_slurm(cluster, jobs):
    """Return the node-minutes of jobs by Slurm's accounting of whole seconds, once their rows have come."""

    def ended():
        text = cluster.on(
            "head",
            "sacct",
            "-aXnP",
            f"--jobs={','.join(jobs)}",
            "--format=End,ElapsedRaw,NNodes",
        )
        rows = [line.split("|") for line in text.splitlines()]
        return (
            len(rows) == len(jobs)
            and all(end != "Unknown" for end, *_ in rows)
            and rows
        )

    # slurmctld hands a job to slurmdbd after it has ended, at a moment of its own.
    rows = wait_for(ended, f"the accounting has not all of the jobs {', '.join(jobs)}")
    return sum(int(seconds) * int(nodes) for _, seconds, nodes in rows) / 60


def computed(folder, *options):
    """Return what is computed outside of any cluster."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FABRIC_CLUSTER")
    }
    env |= {
        "FABRIC_RESULTS": str(folder),
        "FABRIC_CLUSTER_NODES": "2",
        "FABRIC_CLUSTER_RATE": "10gbit",
    }
    done = programs.succeed([*RUN, *options, "--cost", "--json"], env=env)
    return json.loads(done.stdout)


def run_again(cluster, folder):
    """Run once more; return what was computed before, what its records say, and the node-minutes that Slurm
    saw."""
    estimate = computed(folder)
    assert estimate["timed_jobs"] == 3
    cluster.on("head", *RUN, FABRIC_RESULTS=str(folder), timeout=GUARD_S)
    records = json.loads(
        cluster.on("head", FABRIC_CHECKS, "show", "--json", FABRIC_RESULTS=str(folder))
    )
    jobs = {each["jobid"]: (each["nodes"], each["elapsed_s"] / 60) for each in records}
    assert len(jobs) == 3
    times = jobs.values()
    measured = {
        "node_minutes": sum(nodes * time for nodes, time in times),
        "job_minutes": sum(time for _, time in times),
    }
    return estimate, measured, by_slurm(cluster, list(jobs))


def first_run(cluster, folder):
    """Run where nothing is known of durations; return what was computed before."""
    estimate = computed(folder)
    cluster.on("head", *RUN, FABRIC_RESULTS=str(folder), timeout=GUARD_S)
    return estimate


two = cluster_of("--nodes", "2", "--rate", "10gbit")


@pytest.mark.alone
def test_what_is_computed_is_what_is_measured(two, tmp_path):
    first = first_run(two, tmp_path)
    assert first["jobs"] == 3
    assert first["nodes"] == 2
    assert first["timed_jobs"] == 0
    # Another load of the machine changes times, and nothing else: then it is run again.
    for _ in range(3):
        estimate, measured, seen = run_again(two, tmp_path)
        assert abs(measured["node_minutes"] - seen) < CLOSE * seen + WHOLE_SECONDS, (
            measured,
            seen,
        )
        names = ("node_minutes", "job_minutes")
        if all(
            abs(estimate[name] - measured[name]) < CLOSE * measured[name]
            for name in names
        ):
            return
    pytest.fail(f"{estimate} was computed, {measured} measured")


def test_a_run_of_which_nothing_is_known_has_no_times_and_leaves_nothing(tmp_path):
    found = computed(tmp_path, "--reruns=2")
    assert found["passes"] == 3
    assert found["jobs"] == 9
    assert found["timed_jobs"] == 0
    assert found["nodes"] == 2
    assert found["job_minutes"] == 0
    assert found["node_minutes"] == 0
    assert list(tmp_path.rglob("*")) == []
