# SPDX-License-Identifier: BSD-3-Clause
"""Clusters with Flux and OpenPBS: jobs on them, and faults made for real in sessions, where these are installed."""

import os
import re
from pathlib import Path

import pytest

from ci.minicluster import needs
from ci.minicluster.errors import ClusterError
from ci.minicluster.spec import Spec
from tests.cluster import faults, other_schedulers
from tests.cluster.conftest import Cluster
from tests.cluster.test_nothing_left import Placed, left_of, machine_wide


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


@pytest.mark.parametrize("fault", other_schedulers.FAULTS)
def test_a_fault_is_named_and_costs_no_other_case(scheduler, tmp_path, fault):
    """Without one the same is recorded as with Slurm, which tests/cluster/test_faults.py has."""
    make, says = other_schedulers.FAULTS[fault]
    cluster = faults.up(scheduler)
    try:
        outcome = make(cluster, other_schedulers.COMMANDS[scheduler], tmp_path)
    finally:
        cluster.end()
    results = {name: case.result for name, case in outcome.cases.items()}
    assert results == {
        "OsuBarrier": "pass", "OsuLatency": "fail" if says else "pass", "ImbBarrier": "pass"
    }, outcome.said  # fmt: skip
    assert outcome.recorded() == {
        "OsuBarrier": (1, 0), "OsuLatency": (0, 1) if says else (24, 0), "ImbBarrier": (1, 0)
    }  # fmt: skip
    assert (outcome.status, outcome.gate) == ((1, 1) if says else (0, 0)), outcome.said
    records = [record for record in outcome.records if record["check"] == "OsuLatency"]
    if says is None:
        assert {tuple(place.split(":")[0] for place in record["placement"]) for record in records} == {("n1", "n2")}
        assert all(record["job_began"] and record["nodelist"] == ["n1", "n2"] for record in records)
        return
    reason = outcome.cases["OsuLatency"].reason
    print(f"{scheduler}: {fault}: {outcome.seconds:.0f} s: {reason}")
    assert re.search(says, reason) and "\n" not in reason, reason
    assert records[0]["nodelist"] == (["n1", "n2"] if " ran on " in reason else [])
    assert records[0]["jobid"] and records[0]["job_state"]


def test_a_cluster_beside_one_of_slurm_leaves_nothing(scheduler, machine):
    before, slurm, other = machine_wide(), Cluster(), Placed()
    try:
        slurm("up", "--nodes", "1", "--without-accounting")
        other("up", "--nodes", "2", "--scheduler", scheduler)
        assert slurm.on("head", "srun", "hostname") == "n1\n"
        status = other("status")
        assert "n1: flux-broker runs" in status or "n1: pbs_mom runs" in status
        assert other.on("n2", "hostname") == "n2\n"
        other("kill", "n2")
        assert "n2: IS DOWN" in other("status")
        other("start", "n2")
        again = other.call("start", "n2")
        assert again.returncode == 1 and "are running already" in again.stderr
    finally:
        other.end()
        slurm.end()
    assert not left_of(other) and machine_wide() == before
    Path(other.place).rmdir()
