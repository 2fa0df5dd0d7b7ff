# SPDX-License-Identifier: BSD-3-Clause
"""A system without a node in service is found before a night; an unknown state stops no night."""

import json

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import service

DOWN = "NodeName=n1 State=DOWN Partitions=p Reason=no power"
UP = "NodeName=n2 State=IDLE Partitions=p"
SLURM = json.dumps([{"scheduler": "slurm"}])


@pytest.fixture
def programs(monkeypatch):
    """Return the answers of programs, by name: a text, an exception or an exit status."""
    says = {"reframe": SLURM, "scontrol": DOWN}

    def run(command, **_):
        special = f"{command[0]} {command[4 if 'reservation' in command else -1]}"
        said = says.get(special, says[command[0]])
        if isinstance(said, Exception):
            raise said
        failed = isinstance(said, int)
        return service.subprocess.CompletedProcess(command, said if failed else 0, "" if failed else said, "")

    monkeypatch.setattr(service.subprocess, "run", run)
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/bin/{name}")
    return says


def test_a_system_without_a_node_in_service_has_reasons(programs):
    assert service.why_no_job_can_start("s") == "no node is in service: n1 is down (no power)"
    programs["scontrol"] = f"{DOWN}\n{UP}"
    assert service.why_no_job_can_start("s") is None


RESERVED = json.dumps([{"scheduler": "fabric-slurm", "access": ["--reservation=w"]}])
WINDOW = "ReservationName=w StartTime=2026-01-02T03:04:05 Nodes=n[1-2] State={state}"
MAINT = "NodeName=n1 State=IDLE+MAINT+RESERVED Partitions=p Reason=window"


@pytest.mark.parametrize(
    ("window", "inside", "why"),
    [
        (WINDOW.format(state="ACTIVE"), MAINT, None),
        (WINDOW.format(state="ACTIVE"), DOWN, "no node of the reservation w is in service: n1 is down (no power)"),
        (WINDOW.format(state="INACTIVE"), MAINT, "the reservation w is not active: it begins at 2026-01-02T03:04:05"),
        (1, MAINT, "Slurm shows no reservation w; `scontrol show reservation` lists all"),
    ],
    ids=["maintenance", "down", "not begun", "none"],
)
def test_in_a_reservation_its_nodes_count_and_maintenance_does_not(programs, window, inside, why):
    programs["scontrol"] = MAINT
    assert "n1 is in maintenance (window)" in service.why_no_job_can_start("s")
    programs |= {"reframe": RESERVED, "scontrol reservation": window, "scontrol n[1-2]": inside}
    assert service.why_no_job_can_start("s") == why


@pytest.mark.parametrize("partitions", ["no JSON", "[{}]", "7", "[]", json.dumps([{"scheduler": "local"}]), 1])
def test_a_system_without_a_known_slurm_is_run(programs, partitions):
    programs["reframe"] = partitions
    assert service.why_no_job_can_start("s") is None


@pytest.mark.parametrize(
    "said", ["no nodes", "", 1, OSError("no such program"), service.subprocess.TimeoutExpired("scontrol", 30)]
)
def test_a_slurm_that_does_not_answer_stops_no_run(programs, said):
    programs["scontrol"] = said
    assert service.why_no_job_can_start("s") is None


def test_the_system_of_this_host(programs):
    programs["reframe"] = '"local"'
    assert service.system_here() == "local"
    programs["reframe"] = 1
    with pytest.raises(FabricError, match="does not say which system this host is"):
        service.system_here()
