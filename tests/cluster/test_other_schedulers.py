# SPDX-License-Identifier: BSD-3-Clause
"""Flux and OpenPBS where they are installed: layouts, nights, faults and ends as Slurm's tests have them.

`python -m lab.same_everywhere` compares all three.
"""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from ci.minicluster import control, needs, state
from ci.minicluster.errors import ClusterError
from ci.minicluster.spec import Spec
from fabric_checks.records import runs
from tests.cluster import other_schedulers
from tests.cluster.conftest import CI, Cluster
from tests.cluster.faults import up
from tests.cluster.test_nights import TWO, Nights
from tests.cluster.test_nothing_left import Placed, left_of, machine_wide, processes
from tests.guard import GUARD_S, wait_for

#: A case that one node is enough for.
ONE = "^OsuBarrier%layout=1x2$"
#: All layouts of one check, and two processes a node against one.
LAYOUTS = ("^OsuBarrier%", "^OsuBarrierPpnRatio%layout=2x2$")


@pytest.fixture(scope="module", params=["flux", "pbs"])
def scheduler(request):
    """A scheduler that is installed; elsewhere the tests are skipped with the reason."""
    path = os.environ["PATH"]
    try:
        account = needs.account()
        spec = Spec("x", 2, 2, False, account, scheduler=request.param, prefix=needs.prefix(request.param, os.environ))
        needs.check_programs(spec)
        needs.check_namespaces(account)
    except ClusterError as error:
        pytest.skip(str(error))
    finally:
        os.environ["PATH"] = path
    return request.param


@pytest.fixture(scope="module")
def commands(scheduler):
    return other_schedulers.COMMANDS[scheduler]


@pytest.fixture(scope="module")
def two(scheduler):
    """A cluster of two nodes for all tests of a scheduler."""
    cluster = up(scheduler)
    yield cluster
    cluster.end()


def test_each_layout_has_its_nodes_and_a_ratio_both_of_its_launches(two, tmp_path):
    names = [part for name in LAYOUTS for part in ("-n", name)]
    run = [CI / "run", "--system", "minicluster", "--mpi", "mpich,impi", *names]
    two.on("head", *map(str, run), FABRIC_RESULTS=str(tmp_path), timeout=GUARD_S)
    found = runs.load_session(tmp_path).records
    placed = {
        (record["environ"], record["check"], record["layout"]): [rank.split(":")[0] for rank in record["placement"]]
        for record in found
    }
    expected = {
        ("OsuBarrier", "1x2"): ["n1", "n1"], ("OsuBarrier", "2x1"): ["n1", "n2"],
        ("OsuBarrier", "2x2"): ["n1", "n1", "n2", "n2"], ("OsuBarrierPpnRatio", "2x2"): ["n1", "n1", "n2", "n2"],
    }  # fmt: skip
    assert placed == {(mpi, *case): hosts for mpi in ("mpich", "impi") for case, hosts in expected.items()}
    ratios = [record for record in found if record["check"] == "OsuBarrierPpnRatio"]
    assert len(ratios) == 2
    for record in ratios:
        values = record["compared"]["values"]
        assert sorted(values) == ["2x1", "2x2"]
        assert record["value"] == pytest.approx(values["2x2"] / values["2x1"], rel=1e-3)


def test_a_night_is_quiet_and_one_without_a_node_names_it(two, commands, tmp_path):
    nights = Nights(two, tmp_path)
    quiet = nights.spend(ONE, TWO)
    assert (quiet.status, quiet.told["cases"], quiet.told["passed"]) == (0, 2, 2), quiet.said
    two.sh(commands.drain)
    try:
        missed = nights.spend(ONE, TWO)
    finally:
        other_schedulers.heal(two, commands)
    assert (missed.status, missed.told["cases"], missed.told["passed"]) == (3, 2, 1), missed.said
    (title,) = missed.titles("new")
    assert re.match(
        r"1 case could not run or could not finish: n2 is (drained|offline) \(broken cable\)", title
    ), title  # fmt: skip


@pytest.mark.parametrize("fault", other_schedulers.FAULTS)
def test_a_fault_is_named_and_costs_no_other_case(two, scheduler, commands, tmp_path, fault):
    """Without one the same is recorded as with Slurm, which tests/cluster/test_faults.py has."""
    make, says = other_schedulers.FAULTS[fault]
    try:
        outcome = make(two, commands, tmp_path)
    finally:
        other_schedulers.heal(two, commands)
    results = {name: case.result for name, case in outcome.cases.items()}
    assert results == {
        "OsuBarrier": "pass", "OsuLatency": "fail" if says else "pass", "ImbBarrier": "pass"
    }, outcome.said  # fmt: skip
    assert outcome.recorded() == {
        "OsuBarrier": (1, 0), "OsuLatency": (0, 1) if says else (24, 0), "ImbBarrier": (1, 0)
    }  # fmt: skip
    assert (outcome.status, outcome.gate) == ((1, 1) if says else (0, 0)), outcome.said
    found = [record for record in outcome.records if record["check"] == "OsuLatency"]
    if says is None:
        assert {tuple(place.split(":")[0] for place in record["placement"]) for record in found} == {("n1", "n2")}
        assert all(record["job_began"] and record["nodelist"] == ["n1", "n2"] for record in found)
        return
    reason = outcome.cases["OsuLatency"].reason
    print(f"{scheduler}: {fault}: {outcome.seconds:.0f} s: {reason}")
    assert re.search(says, reason) and "\n" not in reason, reason
    assert found[0]["nodelist"] == (["n1", "n2"] if " ran on " in reason else [])
    assert found[0]["jobid"] and found[0]["job_state"]


def test_daemons_that_die_are_named_and_come_back(two, scheduler, commands):
    """Those of a host and, where there are some beside, of the head."""
    daemon, services = {"flux": ("flux-broker", ()), "pbs": ("pbs_mom", ("pbs_server", "pbs_sched"))}[scheduler]
    two("kill", "n2")
    assert "n2: IS DOWN" in two("status")
    for service in services:
        two("kill", service)
        assert f"{service} IS DEAD" in two("status")
        two("start", service)
        assert f"{service} runs" in two("status")
    other_schedulers.heal(two, commands)
    assert f"n2: {daemon} runs" in two("status")
    again = two.call("start", "n2")
    assert again.returncode == 1 and again.stderr == f"error: n2 and its {daemon} are running already\n"
    assert sorted(two.sh(commands.on_both).split()) == ["n1", "n2"]


@pytest.fixture
def other(scheduler):
    """A cluster to be, of which nothing may be left afterwards."""
    before, cluster = machine_wide(), Placed()
    yield cluster
    if cluster.entry:
        cluster("down")
    assert not left_of(cluster) and machine_wide() == before
    Path(cluster.place).rmdir()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_during_up(other, scheduler, number):
    """With the hosts there and the head's first daemons."""
    sign = {"flux": "flux/head/local", "pbs": "pbs/head/datastore"}[scheduler]
    command = other.started("up", "--nodes", "2", "--scheduler", scheduler)
    wait_for(lambda: (state.INDEX / other.name).exists(), "no entry")
    wait_for(lambda: other.entry is None or (other.entry.folder / sign).exists(), f"no {sign}")
    assert other.entry, command.communicate()
    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD_S)
    if number == signal.SIGKILL:
        wait_for(lambda: not left_of(other), lambda: left_of(other))
    else:
        assert (command.returncode, out, err) == (128 + number, "", f"error: ended by {number.name}\n")
        assert not left_of(other)


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGKILL of the owner", "SIGKILL of the head"])
def test_an_owner_that_ends_while_it_is_up(other, scheduler, end):
    script = "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; done"
    command = other.started("run", "--nodes", "2", "--scheduler", scheduler, "--", "bash", "-c", script)
    assert command.stdout.readline() == "ready\n"
    if end == "SIGKILL of the head":
        os.kill(control.listener(control.socket_of(other.entry.folder, "head")), signal.SIGKILL)
        command.communicate(timeout=GUARD_S)
    else:
        command.send_signal(getattr(signal, end.split()[0]))
        out, err = command.communicate(timeout=GUARD_S)
        assert (command.returncode, out, err) == (-signal.SIGKILL if "owner" in end else 9, "", "")
    wait_for(lambda: not left_of(other), lambda: left_of(other))


def test_a_cluster_beside_one_of_slurm_and_its_keeper_killed(other, scheduler, machine):
    """All but the folder goes at once; the folder goes with the next command, whosever that is."""
    slurm = Cluster()
    try:
        slurm("up", "--nodes", "1", "--without-accounting")
        other("up", "--nodes", "2", "--scheduler", scheduler)
        assert slurm.on("head", "srun", "hostname") == "n1\n"
        assert other.on("n2", "hostname") == "n2\n"
        os.kill(other.entry.keeper, signal.SIGKILL)
        wait_for(lambda: not processes(other), lambda: processes(other))
        subprocess.run([CI / "cluster", "status"], capture_output=True, check=True, timeout=GUARD_S)
        assert not left_of(other)
        assert slurm.on("head", "srun", "hostname") == "n1\n"
    finally:
        slurm.end()
