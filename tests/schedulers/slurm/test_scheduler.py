# SPDX-License-Identifier: BSD-3-Clause
"""The scheduler `fabric-slurm` with commands that say what a Slurm in trouble says; the real one is in cluster/."""

import re
import time
from datetime import datetime

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import take_system
from fabric_checks.schedulers.slurm.scheduler import scheduler as backend
from tests.guard import GUARD_S
from tests.loading import SETTINGS

#: Each command gives the next of its answers, the last one for ever: its status, standard output and standard error
#: are in files. It notes its arguments.
COMMAND = """#!/bin/sh
cd "${0%/*}"
key=${0##*/}
echo "$key $*" >> calls
for word; do case $word in node|hostname|reservation) key=$key-$word ;; esac; done
set -- "$key".*.status
answer=${1%.status}
status=$(cat "$1")
cat "$answer.out"
cat "$answer.err" >&2
[ $# = 1 ] || rm "$1"
exit "$status"
"""
CONTROLLER = (
    "JobId=7 JobState={state} Reason={reason} ExitCode={exit} Partition=compute NodeList={nodes} NumNodes=2-2 "
    "NumCPUs=2 StartTime=2026-01-02T03:04:05 EndTime=Unknown"
)
NODES = (
    "NodeName=n1 State=IDLE Partitions=compute \nNodeName=n2 State={state} Partitions=compute  Reason=cable [me@now]\n"
)
SILENT = (1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")
UNKNOWN = (1, "", "slurm_load_jobs error: Invalid job id specified\n")
NO_SACCT = (1, "", "sacct: error: Sending PersistInit msg: Connection refused\nsacct: error: Problem talking\n")


class Slurm:
    """Commands on PATH, and the scheduler that calls them."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("sacct", "scontrol", "sbatch", "scancel", "squeue"):
            (folder / name).write_text(COMMAND)
            (folder / name).chmod(0o755)
        self.say("scontrol-node", (0, NODES.format(state="IDLE"), ""))
        self.say("scontrol-hostname", (0, "n1\nn2\n", ""))
        self.say("scancel", (0, "", ""))
        self.say("squeue", (0, "", ""))
        self.say("sbatch", (0, "Submitted batch job 7\n", ""))
        self.scheduler = getscheduler("fabric-slurm")(part_name="pmi2")

    def say(self, what, *answers):
        """Let a command give these answers, one a call, and the last from then on."""
        for old in self.folder.glob(f"{what}.*.status"):
            old.unlink()
        for number, (status, out, err) in enumerate(answers):
            for part, text in (("status", str(status)), ("out", out), ("err", err)):
                (self.folder / f"{what}.{number}.{part}").write_text(text)

    def accounting(self, state, exit_code="0:0"):
        self.say("sacct", (0, f"JobID|State|ExitCode|End|NodeList\n7|{state}|{exit_code}|Unknown|n[1-2]\n", ""))

    def controller(self, state, reason="None", exit_code="0:0", nodes="n[1-2]"):
        self.say("scontrol", (0, CONTROLLER.format(state=state, reason=reason, exit=exit_code, nodes=nodes), ""))

    @property
    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def submitted(self, **limits):
        job = Job.create(self.scheduler, getlauncher("srun")(), name="a", workdir=str(self.folder))
        self.scheduler.submit(job)
        for name, seconds in limits.items():
            setattr(job, name, seconds)
        return job

    def end(self, job):
        """Poll until the job has ended, and return why it failed."""
        deadline = time.monotonic() + GUARD_S
        while not self.scheduler.finished(job):
            assert time.monotonic() < deadline, self.calls
            self.scheduler.poll(job)
        ending = self.scheduler.why_failed(job)
        return ending and ending.text


@pytest.fixture
def fake(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("ASK_FIRST_S", "ASK_LAST_S", "WITHOUT_ACCOUNTING_S"):
        monkeypatch.setattr(backend, name, 0.0)
    for name in ("BEHIND_S", "OUT_OF_SERVICE_S", "SILENCE_S"):
        monkeypatch.setattr(backend, name, 0.5)
    take_system([str(SETTINGS)], "minicluster")
    return Slurm(tmp_path)


def test_a_job_that_ends_well_is_not_explained(fake):
    fake.accounting("COMPLETED")
    job = fake.submitted()
    assert fake.end(job) is None
    assert (job.state, job.exitcode) == ("COMPLETED", 0)
    assert not [call for call in fake.calls if call.startswith("scontrol")]


@pytest.mark.parametrize("missing", [False, True])
def test_without_sacct_the_controller_is_believed_at_once(fake, monkeypatch, missing):
    monkeypatch.setattr(backend, "BEHIND_S", 1000.0)
    if missing:
        (fake.folder / "sacct").unlink()
    fake.say("sacct", NO_SACCT)
    fake.controller("RUNNING")
    job = fake.submitted()
    fake.scheduler.poll(job)
    assert (job.state, fake.scheduler.finished(job)) == ("RUNNING", False)
    fake.controller("FAILED", "NonZeroExitCode", "3:0")
    assert fake.end(job) is None
    assert (job.state, job.exitcode, job.nodelist) == ("FAILED", 3, ["n1", "n2"])


def test_accounting_that_never_hears_of_the_end_is_overruled(fake):
    fake.accounting("RUNNING")
    fake.controller("TIMEOUT", exit_code="0:15")
    job = fake.submitted()
    begin = time.monotonic()
    assert fake.end(job) == "job 7 ran on n1, n2; it ran over its time limit (TIMEOUT)"
    began = datetime.fromisoformat(fake.scheduler.began(job))
    assert began.tzinfo and began.replace(tzinfo=None) == datetime(2026, 1, 2, 3, 4, 5)
    assert time.monotonic() - begin >= 0.5, "accounting was not given the time to catch up"


def test_the_exit_status_that_accounting_has_not_heard_of_is_the_controllers(fake):
    """As of one in 25 jobs that ended at once: accounting has FAILED|0:0 for a moment."""
    fake.accounting("FAILED", "0:0")
    fake.controller("FAILED", "NonZeroExitCode", "3:0")
    job = fake.submitted()
    assert fake.end(job) is None
    assert (job.state, job.exitcode) == ("FAILED", 3)


def test_a_job_whose_first_node_is_done_with_it_ran_on_both(fake):
    """Accounting and the controller then name only the nodes that are still at it."""
    fake.say("sacct", (0, "7|CANCELLED by 0|0:0|Unknown|n2\n", ""))
    line = CONTROLLER.format(state="COMPLETING", reason="None", exit="0:0", nodes="n2")
    fake.say("scontrol", (0, f"{line} JOB_GRES=(null)   Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES= MinCPUsNode=1", ""))
    job = fake.submitted()
    assert fake.end(job)
    assert [call for call in fake.calls if "hostname" in call] == ["scontrol show hostname n[1-2]"]


def test_a_job_that_lost_its_host_is_not_left_in_the_queue(fake):
    """Slurm queues one again that had not begun there, --no-requeue or not: a vet waited behind it for ever."""
    fake.accounting("NODE_FAIL")
    fake.controller("COMPLETING")
    job = fake.submitted()
    assert "a node of it failed (NODE_FAIL)" in fake.end(job)
    assert fake.calls.count("scancel 7") == 1
    assert "#SBATCH --no-requeue" in fake.scheduler.emit_preamble(job)


def test_a_job_that_the_controller_has_forgotten_is_given_up(fake):
    fake.accounting("RUNNING")
    fake.say("scontrol", UNKNOWN)
    assert fake.end(fake.submitted()) == ("job 7 was given up: Slurm has forgotten it; perhaps its controller crashed")


def test_a_job_of_which_only_accounting_still_knows_has_ended_as_that_says(fake):
    fake.say("sacct", (0, "", ""), (0, "7|CANCELLED by 0|0:0|Unknown|n[1-2]\n", ""))
    fake.say("scontrol", UNKNOWN)
    assert "it was cancelled, but not by this session" in fake.end(fake.submitted())


def test_a_silent_controller_ends_the_job_and_no_later_one_waits_for_it(fake, monkeypatch):
    fake.accounting("RUNNING")
    fake.say("scontrol", SILENT)
    job = fake.submitted()
    assert (
        "scontrol has failed for" in fake.end(job)
        and "may still be in the queue" in fake.scheduler.why_failed(job).text
    )
    monkeypatch.setattr(backend, "SILENCE_S", 10.0)
    fake.say("sbatch", (1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (x)\n"))
    with pytest.raises(JobSchedulerError, match=r"^sbatch: Batch job submission failed: Unable to contact .* \(x\)$"):
        fake.submitted()
    assert sum(call.startswith("sbatch") for call in fake.calls) == 2


def test_a_silence_of_the_controller_does_no_harm(fake):
    fake.accounting("RUNNING")
    fake.say("scontrol", SILENT, (0, CONTROLLER.format(state="RUNNING", reason="None", exit="0:0", nodes="n[1-2]"), ""))
    job = fake.submitted()
    fake.scheduler.poll(job)
    fake.scheduler.poll(job)
    time.sleep(0.6)
    fake.say("scontrol", SILENT)
    fake.scheduler.poll(job)
    assert not fake.scheduler.finished(job), "two silences were taken for one"


def test_a_job_is_submitted_again_when_the_controller_is_back(fake, monkeypatch):
    monkeypatch.setattr(backend, "SILENCE_S", 60.0)
    down = (1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (x)\n")
    fake.say("sbatch", down, (0, "Submitted batch job 8\n", ""))
    assert fake.submitted().jobid == "8"


def test_a_refused_job_fails_in_one_line_and_is_not_submitted_again(fake):
    fake.say("sbatch", (1, "", "sbatch: error: Batch job submission failed: Invalid account\n"))
    with pytest.raises(JobSchedulerError, match=r"^sbatch: Batch job submission failed: Invalid account$"):
        fake.submitted()
    assert len(fake.calls) == 1


def test_a_job_that_waits_for_too_long_is_cancelled_again_if_that_failed(fake):
    fake.accounting("PENDING")
    fake.controller("PENDING", "Resources", nodes="")
    fake.say("scancel", SILENT, (0, "", ""))
    job = fake.submitted(max_pending_time=1)
    deadline = time.monotonic() + GUARD_S
    while not job.is_cancelling:
        assert time.monotonic() < deadline
        fake.scheduler.poll(job)
    assert sum(call.startswith("scancel 7") for call in fake.calls) == 2
    fake.accounting("CANCELLED")
    waited = r"job 7 is still waiting after \d+ s in the queue and was cancelled; Slurm says: Resources"
    assert re.match(waited, fake.end(job))


def test_a_job_that_began_after_all_has_not_failed(fake):
    fake.accounting("PENDING")
    fake.controller("PENDING", "Resources", nodes="")
    job = fake.submitted(max_pending_time=0.1)
    time.sleep(0.2)
    fake.scheduler.poll(job)
    assert fake.scheduler.why_failed(job)
    fake.accounting("COMPLETED")
    assert fake.end(job) is None


def test_too_few_nodes_in_service_end_the_wait_if_they_stay_so(fake):
    fake.accounting("PENDING")
    fake.controller("PENDING", "Nodes_required_for_job_are_DOWN", nodes="")
    fake.say("scontrol-node", (0, NODES.format(state="IDLE+DRAIN"), ""))
    job = fake.submitted()
    fake.scheduler.poll(job)
    assert not job.is_cancelling, "a node that is back soon is waited for"
    time.sleep(0.6)
    fake.scheduler.poll(job)
    assert job.is_cancelling
    fake.accounting("CANCELLED")
    assert "Slurm says: Nodes required for job are DOWN: n2 is drained (cable)" in fake.end(job)


@pytest.mark.parametrize(("inside", "is_hopeless"), [("IDLE+MAINT+RESERVED", False), ("DOWN+MAINT", True)])
def test_a_job_in_a_reservation_waits_for_its_nodes_although_they_are_in_maintenance(fake, inside, is_hopeless):
    fake.accounting("PENDING")
    line = CONTROLLER.format(state="PENDING", reason="Priority", exit="0:0", nodes="")
    fake.say("scontrol", (0, f"{line} Reservation=w ", ""))
    fake.say("scontrol-reservation", (0, "ReservationName=w StartTime=x Nodes=n[1-2] State=ACTIVE\n", ""))
    fake.say("scontrol-node", (0, NODES.format(state=inside), ""))
    job = fake.submitted()
    fake.scheduler.poll(job)
    time.sleep(0.6)
    fake.scheduler.poll(job)
    assert job.is_cancelling == is_hopeless
    assert "scontrol -a -o show node n[1-2]" in fake.calls


def test_nodes_that_come_back_in_time_are_waited_for(fake):
    fake.accounting("PENDING")
    fake.controller("PENDING", "Nodes_required_for_job_are_DOWN", nodes="")
    job = fake.submitted()
    for state, pause_s in (("IDLE+DRAIN", 0.3), ("IDLE", 0.3), ("IDLE+DRAIN", 0)):
        fake.say("scontrol-node", (0, NODES.format(state=state), ""))
        fake.scheduler.poll(job)
        time.sleep(pause_s)
    assert not job.is_cancelling, "they were out of service twice, not for long"


def test_a_job_that_was_cancelled_before_it_began_had_no_nodes(fake):
    fake.say("sacct", (0, "7|CANCELLED by 0|0:0|Unknown|None assigned\n", ""))
    fake.controller("CANCELLED", nodes="")
    fake.say("scontrol-hostname", (1, "", "scontrol: error: no nodelist"))
    job = fake.submitted()
    assert fake.end(job) == "job 7 had not started; it was cancelled, but not by this session (CANCELLED)"
    assert job.nodelist == [] and fake.scheduler.began(job) is None
    assert "scontrol show hostname" in fake.calls[-1] and "None" not in fake.calls[-1]


def test_a_job_that_is_being_tidied_up_does_not_wait(fake):
    fake.say("sacct", NO_SACCT)
    fake.controller("COMPLETING")
    fake.say("scontrol-node", (0, NODES.format(state="DOWN"), ""))
    job = fake.submitted(max_pending_time=0.1)
    for _ in range(3):
        time.sleep(0.3)
        fake.scheduler.poll(job)
    assert not job.is_cancelling


def test_a_reason_for_which_reframe_cancels_is_the_jobs_failure(fake):
    fake.accounting("PENDING")
    fake.controller("PENDING", "ReqNodeNotAvail,_UnavailableNodes:n2", nodes="")
    job = fake.submitted()
    while not job.is_cancelling:
        fake.scheduler.poll(job)
    assert job.exception is None
    fake.accounting("CANCELLED")
    assert "job 7 cannot start after" in fake.end(job)
    assert "Slurm says: ReqNodeNotAvail, UnavailableNodes:n2" in fake.scheduler.why_failed(job).text
