# SPDX-License-Identifier: BSD-3-Clause
"""Flux and OpenPBS where they are installed: layouts, nights and daemons; faults and ends are tested with
Slurm's."""

import re

import pytest

from fabric_checks.records import runs
from tests.cluster.conftest import CI, Cluster, require
from tests.cluster.session_faults import (
    COMMANDS,
    METRICS,
    Session,
    begin_held,
    heal,
)
from tests.cluster.test_nights import TWO, Nights
from tests.guard import GUARD_S

#: A case that one node is enough for.
ONE = "^OsuBarrier%layout=1x2$"
#: All layouts of one check, and two processes a node against one.
LAYOUTS = ("^OsuBarrier%", "^OsuBarrierPpnRatio%layout=2x2$")


@pytest.fixture(scope="module", params=["flux", "pbs"])
def scheduler(request):
    """A scheduler that is installed; elsewhere the tests are skipped with the reason."""
    require(request.param)
    return request.param


@pytest.fixture(scope="module")
def commands(scheduler):
    return COMMANDS[scheduler]


@pytest.fixture(scope="module")
def two(scheduler):
    """A cluster of two nodes for all tests of a scheduler."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--scheduler", scheduler)
    yield cluster
    cluster.end()


def test_each_layout_has_its_nodes_and_a_ratio_both_of_its_launches(two, tmp_path):
    names = [part for name in LAYOUTS for part in ("-n", name)]
    run = [CI / "run", "--system", "minicluster", "--mpi", "mpich,impi", *names]
    two.on("head", *map(str, run), FABRIC_RESULTS=str(tmp_path), timeout=GUARD_S)
    found = runs.load_session(tmp_path).records
    placed = {
        (record["environ"], record["check"], record["layout"]): [
            rank.split(":")[0] for rank in record["placement"]
        ]
        for record in found
    }
    expected = {
        ("OsuBarrier", "1x2"): ["n1", "n1"], ("OsuBarrier", "2x1"): ["n1", "n2"],
        ("OsuBarrier", "2x2"): ["n1", "n1", "n2", "n2"],
        ("OsuBarrierPpnRatio", "2x2"): ["n1", "n1", "n2", "n2"],
    }  # fmt: skip
    assert placed == {
        (mpi, *case): hosts
        for mpi in ("mpich", "impi")
        for case, hosts in expected.items()
    }
    ratios = [record for record in found if record["check"] == "OsuBarrierPpnRatio"]
    assert len(ratios) == 2
    for record in ratios:
        values = record["compared"]["values"]
        assert sorted(values) == ["2x1", "2x2"]
        assert record["value"] == pytest.approx(values["2x2"] / values["2x1"], rel=1e-3)


def test_all_cases_are_steps_of_the_job_that_the_run_is_in(two, commands, tmp_path):
    outcome = Session(two, tmp_path, one_job=True, inside=commands.alloc).end()
    results = {name: case.result for name, case in outcome.cases.items()}
    assert results == dict.fromkeys(METRICS, "pass"), outcome.printed
    assert (outcome.status, outcome.gate) == (0, 0), outcome.printed
    assert len({record["jobid"].split("/")[0] for record in outcome.records}) == 1
    nodes = {record["check"]: record["nodelist"] for record in outcome.records}
    assert nodes == {
        "OsuBarrier": ["n1"],
        "OsuLatency": ["n1", "n2"],
        "ImbBarrier": ["n1"],
    }


def test_a_case_that_hangs_is_ended_and_the_others_go_on(two, commands, tmp_path):
    limit = ("-S", "OsuLatency.time_limit=10s")
    inside = {"one_job": True, "inside": commands.alloc}
    outcome = begin_held(two, tmp_path, *limit, **inside).end()
    results = {name: case.result for name, case in outcome.cases.items()}
    assert results == dict.fromkeys(METRICS, "pass") | {"OsuLatency": "fail"}
    assert "ran over its time limit (10 s)" in outcome.cases["OsuLatency"].reason, (
        outcome.printed
    )


def test_outside_of_a_job_one_job_is_refused_with_the_remedy(two, tmp_path):
    run = [CI / "run", "--system", "minicluster", "--one-job", "-n", ONE]
    done = two.tried("head", *map(str, run), FABRIC_RESULTS=str(tmp_path))
    assert done.returncode == 2, done.stdout
    assert "only Slurm is asked for an allocation; submit this command" in done.stderr


def test_a_night_is_quiet_and_one_without_a_node_names_it(two, commands, tmp_path):
    nights = Nights(two, tmp_path)
    quiet = nights.spend(ONE, TWO)
    assert (quiet.status, quiet.json["cases"], quiet.json["passed"]) == (0, 2, 2), (
        quiet.text
    )
    two.sh(commands.drain)
    try:
        missed = nights.spend(ONE, TWO)
    finally:
        heal(two, commands)
    assert (missed.status, missed.json["cases"], missed.json["passed"]) == (3, 2, 1), (
        missed.text
    )
    (title,) = missed.titles("new")
    assert re.match(
        r"1 case could not run or could not finish: n2 is (drained|offline) \(broken cable\)", title
    ), title  # fmt: skip


def test_daemons_that_die_are_named_and_come_back(two, scheduler, commands):
    """Those of a host and, with PBS, of the head."""
    daemon, services = {
        "flux": ("flux-broker", ()),
        "pbs": ("pbs_mom", ("pbs_server", "pbs_sched")),
    }[scheduler]
    two("kill", "n2")
    assert "n2: IS DOWN" in two("status")
    for service in services:
        two("kill", service)
        assert f"{service} IS DEAD" in two("status")
        two("start", service)
        assert f"{service} runs" in two("status")
    heal(two, commands)
    assert f"n2: {daemon} runs" in two("status")
    again = two.call("start", "n2")
    assert again.returncode == 1
    assert again.stderr == f"error: n2 and its {daemon} are running already\n"
    assert sorted(two.sh(commands.on_both).split()) == ["n1", "n2"]
