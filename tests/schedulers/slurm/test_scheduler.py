# SPDX-License-Identifier: BSD-3-Clause
"""The rules of `fabric-slurm` alone; the real Slurm is in tests/cluster.

What it has in common with the other schedulers is in tests/schedulers/test_contract.py.
"""

from datetime import datetime

import pytest

from fabric_checks.schedulers import watchdog
from tests.guard import GUARD_S
from tests.schedulers.stand_ins import Slurm, standing_clock

DOWN = "Nodes_required_for_job_are_DOWN"


@pytest.fixture
def clock(monkeypatch):
    return standing_clock(monkeypatch, watchdog)


@pytest.fixture
def fake(tmp_path, monkeypatch, clock):
    return Slurm(tmp_path, monkeypatch)


def is_cancelled(fake):
    return bool(fake.count("scancel 7"))


def end(fake, job, clock, step_s=5):
    """Poll until the job has ended, and return why it failed."""
    deadline = clock.now + 100 * GUARD_S
    while not fake.polled(job)[1]:
        assert clock.now < deadline, fake.calls
        clock.now += step_s
    reason = fake.scheduler.why_failed(job)
    return reason and reason.text


def test_the_begin_of_a_job_that_ended_has_a_time_zone(fake, clock):
    fake.controller("TIMEOUT", exit_code="0:15")
    job = fake.submitted()
    assert (
        end(fake, job, clock)
        == "job 7 ran on n1, n2; it ran over its time limit (TIMEOUT)"
    )
    began = datetime.fromisoformat(fake.scheduler.began(job))
    assert began.tzinfo and began.replace(tzinfo=None) == datetime(2026, 1, 2, 3, 4, 5)
    assert job.completion_time


def test_a_job_whose_first_node_is_done_with_it_ran_on_both(fake, clock):
    """The controller then names only the nodes that are still at it."""
    fake.controller(
        "CANCELLED",
        nodes="n2",
        more=" JOB_GRES=(null)   Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES= MinCPUsNode=1",
    )
    job = fake.submitted()
    assert end(fake, job, clock).startswith("job 7 ran on n1, n2; ")
    assert job.nodelist == ["n1", "n2"]
    assert fake.calls[-1] == "scontrol show hostname n1,n2"


def test_a_job_that_was_cancelled_before_it_began_had_no_nodes(fake, clock):
    fake.knows("cancelled")
    job = fake.submitted()
    assert (
        end(fake, job, clock)
        == "job 7 had not started; it was cancelled, but not by this session (CANCELLED)"
    )
    assert job.nodelist == []
    assert fake.scheduler.began(job) is None
    assert "None" not in fake.calls[-1]


def test_a_job_that_lost_its_host_is_not_left_in_the_queue(fake, clock):
    """Slurm queues one again that had not begun there, --no-requeue or not: a vet waited behind it for
    ever."""
    fake.controller("NODE_FAIL")
    job = fake.submitted()
    assert "a node of it failed (NODE_FAIL)" in end(fake, job, clock)
    assert fake.count("scancel 7") == 1
    assert "#SBATCH --no-requeue" in fake.scheduler.emit_preamble(job)


def test_two_short_silences_of_the_controller_are_not_one(fake, clock):
    fake.controller("RUNNING")
    job = fake.submitted()
    for is_silent in (True, False, True):
        fake.is_silent() if is_silent else fake.controller("RUNNING")
        fake.scheduler.poll(job)
        clock.now += 0.6 * watchdog.SILENCE_S
    fake.scheduler.poll(job)
    assert not fake.scheduler.finished(job) and fake.count("scontrol -d") == 4


def test_a_cancellation_that_failed_is_repeated(fake, clock):
    fake.knows("waiting")
    fake.say("scancel", fake.silence, "")
    job = fake.submitted(max_pending_time=1)
    clock.now = job.submit_time
    for _ in range(3):
        clock.now += 1
        fake.scheduler.poll(job)
    assert is_cancelled(fake) and fake.count("scancel 7") == 2


@pytest.mark.parametrize(
    "state, cancels", [("IDLE+MAINT+RESERVED", False), ("DOWN+MAINT", True)]
)
def test_a_job_in_a_reservation_waits_for_nodes_in_maintenance(
    fake, clock, state, cancels
):
    fake.controller("PENDING", "Priority", nodes="", more=" Reservation=w ")
    fake.say(
        "scontrol-reservation",
        "ReservationName=w StartTime=x Nodes=n[1-2] State=ACTIVE\n",
    )
    fake.has_nodes(state)
    job = fake.submitted()
    for _ in range(3):
        fake.scheduler.poll(job)
        clock.now += watchdog.OUT_OF_SERVICE_S
    assert is_cancelled(fake) == cancels
    assert "scontrol -a -o show node n[1-2]" in fake.calls


@pytest.mark.parametrize(("flags", "nodes"), [("FLEX,SPEC_NODES", ""), ("", " n1")])
def test_a_job_in_a_flexible_reservation_waits_for_all_nodes(fake, clock, flags, nodes):
    fake.controller("PENDING", "Resources", nodes="", more=" Reservation=w ")
    line = f"ReservationName=w StartTime=x Nodes=n1 State=ACTIVE Flags={flags}\n"
    fake.say("scontrol-reservation", line)
    job = fake.submitted()
    fake.scheduler.poll(job)
    assert f"scontrol -a -o show node{nodes}" in fake.calls


def test_a_node_that_reboots_is_waited_for_and_still_named(fake, clock):
    fake.controller("PENDING", "Resources", nodes="")
    fake.has_nodes("DOWN+REBOOT_ISSUED")
    job = fake.submitted(max_pending_time=10 * watchdog.OUT_OF_SERVICE_S)
    for _ in range(3):
        fake.scheduler.poll(job)
        clock.now += watchdog.OUT_OF_SERVICE_S
    assert not is_cancelled(fake)
    clock.now += 10 * watchdog.OUT_OF_SERVICE_S
    fake.scheduler.poll(job)
    assert is_cancelled(fake) and "reboots" in fake.scheduler.why_failed(job).text


def test_nodes_that_come_back_in_time_are_waited_for(fake, clock):
    fake.controller("PENDING", DOWN, nodes="")
    job = fake.submitted()
    for state in ("IDLE+DRAIN", "IDLE", "IDLE+DRAIN"):
        fake.has_nodes(state)
        fake.scheduler.poll(job)
        clock.now += 0.6 * watchdog.OUT_OF_SERVICE_S
    assert not is_cancelled(fake) and fake.count("scontrol -a -o show node") == 3


def test_a_job_that_is_being_tidied_up_does_not_wait(fake, clock):
    fake.controller("COMPLETING")
    fake.has_nodes("DOWN")
    job = fake.submitted(max_pending_time=0.1)
    for _ in range(3):
        clock.now += watchdog.OUT_OF_SERVICE_S
        fake.scheduler.poll(job)
    assert not is_cancelled(fake)


def test_a_reason_that_reframe_cancels_for_is_the_exit_reason(fake, clock):
    fake.controller("PENDING", "ReqNodeNotAvail,_UnavailableNodes:n2", nodes="")
    job = fake.submitted()
    while not is_cancelled(fake):
        clock.now += 5
        fake.scheduler.poll(job)
    assert job.exception is None
    fake.knows("cancelled")
    assert "job 7 cannot start after" in end(fake, job, clock)
    assert (
        "Slurm says: ReqNodeNotAvail, UnavailableNodes:n2"
        in fake.scheduler.why_failed(job).text
    )


def test_nodes_of_other_partitions_do_not_count(fake, clock):
    other = "NodeName=n3 State=IDLE Partitions=other \n"
    fake.knows("waiting")
    fake.has_nodes("IDLE+DRAIN")
    text = (fake.folder / "scontrol-node.0.out").read_text()
    fake.say("scontrol-node", text + other)
    job = fake.submitted()
    while not is_cancelled(fake):
        clock.now += 5
        fake.scheduler.poll(job)
    assert "cannot start" in fake.scheduler.why_failed(job).text
