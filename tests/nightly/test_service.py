# SPDX-License-Identifier: BSD-3-Clause
"""A system without a node in service is found before a night; an unknown state stops no night."""

import subprocess
from types import SimpleNamespace

import pytest

from fabric_checks.core.errors import FabricError, RequestError
from fabric_checks.nightly import service
from tests.nightly.conftest import CONFIGURATION, NODES, configuration

DOWN = "NodeName=n1 State=DOWN Partitions=all Reason=no power"
UP = "NodeName=n2 State=IDLE Partitions=all"


def test_a_system_without_a_node_in_service_has_reasons(answers):
    answers[NODES] = DOWN
    assert (
        service.why_no_job_can_start("s")
        == "no node is in service: n1 is down (no power)"
    )
    answers[NODES] = f"{DOWN}\n{UP}"
    assert service.why_no_job_can_start("s") is None


@pytest.mark.parametrize(
    "cause",
    [
        "there is no system 'x': choose one of oak",
        "the system oak has no partition 'x'",
    ],
)
def test_a_system_that_does_not_exist_is_wrong_usage(answers, cause):
    answers[CONFIGURATION] = FabricError(
        f"reframe --show-config=systems/0: failed to load configuration: {cause}"
    )
    with pytest.raises(RequestError, match=f"^--system: {cause}$") as caught:
        service.configuration("x")
    assert caught.value.status == 2
    answers[CONFIGURATION] = None
    with pytest.raises(FabricError, match="no such thing") as caught:
        service.configuration("x")
    assert caught.value.status == 1


WINDOW = "ReservationName=w StartTime=2026-01-02T03:04:05 Nodes=n[1-2] State={state}"
MAINT = "NodeName=n1 State=IDLE+MAINT+RESERVED Partitions=all Reason=window"


@pytest.mark.parametrize(
    "window, inside, why",
    [
        (WINDOW.format(state="ACTIVE"), MAINT, None),
        (
            WINDOW.format(state="ACTIVE"),
            DOWN,
            "no node of the reservation w is in service: n1 is down (no power)",
        ),
        (
            WINDOW.format(state="INACTIVE"),
            MAINT,
            "the reservation w is not active: it begins at 2026-01-02T03:04:05",
        ),
        (
            None,
            MAINT,
            "Slurm shows no reservation w; `scontrol show reservation` lists all",
        ),
    ],
    ids=["maintenance", "down", "not begun", "none"],
)
def test_in_a_reservation_its_nodes_count_and_maintenance_does_not(
    answers, window, inside, why
):
    answers[NODES] = MAINT
    assert "n1 is in maintenance (window)" in service.why_no_job_can_start("s")
    answers |= {
        CONFIGURATION: configuration(access=["--reservation=w"]),
        "w": window,
        "n[1-2]": inside,
    }
    assert service.why_no_job_can_start("s") == why


@pytest.mark.parametrize(
    "changes",
    [
        {CONFIGURATION: "no JSON"},
        {CONFIGURATION: None},
        {CONFIGURATION: configuration("local")},
        {NODES: "no nodes"},
        {NODES: ""},
        {NODES: None},
        {NODES: OSError("no such program")},
        {NODES: subprocess.TimeoutExpired("scontrol", 30)},
    ],
    ids=str,
)
def test_what_is_not_known_of_slurm_stops_no_run(answers, changes):
    answers |= {NODES: DOWN} | changes
    assert service.why_no_job_can_start("s") is None


@pytest.mark.parametrize("text", ["no JSON", "7"])
def test_a_system_that_reframe_does_not_show_is_refused_with_a_remedy(answers, text):
    answers[CONFIGURATION] = text
    with pytest.raises(
        FabricError,
        match="shows no system; run it by hand to see why, or name one with --system",
    ):
        service.configuration(None)


def test_an_error_in_colour_is_plain(monkeypatch):
    done = SimpleNamespace(
        returncode=1,
        stdout="Log file(s) saved",
        stderr="\x1b[31mERROR: no such system\x1b[0m\n",
    )
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(FabricError, match="^reframe -l: no such system$"):
        service.printed(["reframe", "-l"])
