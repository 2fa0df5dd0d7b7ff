# SPDX-License-Identifier: BSD-3-Clause
"""What `fabric-pbs` does beyond job scripts, which tests/checks/test_job_scripts.py has.

Here `qsub` and the like stand in for PBS: they note what they are called with, and print what tests/golden/pbs has of a
real one. tests/cluster/test_other_schedulers.py has it live.
"""

import json
from pathlib import Path

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import take_system
from fabric_checks.schedulers import patience
from tests.conftest import GOLDEN
from tests.loading import SETTINGS

PRINTED = GOLDEN / "pbs" / "23.06.06"
STAND_IN = """#!/bin/sh
echo "$(basename $0) $@" >> {folder}/calls
case $(basename $0) in
qsub) cat {folder}/qsub; cat {folder}/qsub.err >&2; exit $(cat {folder}/status) ;;
qstat) cat {folder}/qstat; cat {folder}/qstat.err >&2 ;;
pbsnodes) cat {folder}/pbsnodes ;;
esac
"""


class Pbs:
    """The stand-ins."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("qsub", "qstat", "qdel", "pbsnodes"):
            command = folder / "bin" / name
            command.write_text(STAND_IN.format(folder=folder))
            command.chmod(0o755)
        self.takes("7.head")
        self.has("busy_nodes")

    def takes(self, line, status=0, error=""):
        """Say what `qsub` prints, and how it ends."""
        for name, text in (("qsub", line), ("qsub.err", error), ("status", str(status))):
            (self.folder / name).write_text(f"{text}\n")

    def knows(self, name, error="", **more):
        """Say what becomes of the job; of none where there is no name."""
        text = ""
        if name:
            (printed,) = json.loads((PRINTED / f"{name}.json").read_text())["Jobs"].values()
            text = json.dumps({"Jobs": {"7.head": printed | more}})
        (self.folder / "qstat").write_text(text)
        (self.folder / "qstat.err").write_text(error)

    def has(self, nodes):
        """Say which nodes there are."""
        (self.folder / "pbsnodes").write_text((PRINTED / f"{nodes}.json").read_text())

    @property
    def calls(self):
        return (self.folder / "calls").read_text()


@pytest.fixture
def pbs(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return Pbs(tmp_path)


@pytest.fixture
def job(pbs, tmp_path, monkeypatch):
    """A job that PBS has taken."""
    take_system([str(SETTINGS)], "generic_pbs")
    monkeypatch.chdir(tmp_path)
    scheduler = getscheduler("fabric-pbs")()
    job = Job.create(scheduler, getlauncher("local")(), name="rfm_A", workdir=str(tmp_path), script_filename="a.sh")
    job.num_tasks, job.num_tasks_per_node, job.time_limit = 4, 2, 90
    Path("a.sh").write_text("#!/bin/bash\n")
    job.submit()
    return job


def polled(job):
    job.scheduler.poll(job, None)
    return job.state, job.completed


def test_a_job_is_watched_from_the_queue_to_its_end(job, pbs):
    assert job.jobid == "7.head" and job.scheduler.emit_preamble(job)[0] == "#PBS -r n"
    pbs.knows("pending")
    assert polled(job) == ("QUEUED", False) and job.scheduler.began(job) is None
    pbs.knows("running")
    assert polled(job) == ("RUNNING", False) and list(job.nodelist) == ["n1", "n2"]
    pbs.knows("failed")
    assert polled(job) == ("FAILED", True) and job.exitcode == 3
    assert job.scheduler.why_failed(job) is None
    assert job.scheduler.began(job).startswith("2026-11-22T16:58:33")


@pytest.mark.parametrize(
    ("name", "nodes", "state", "says"),
    [
        ("timeout", "busy_nodes", "TIMEOUT", "it ran over its time limit (Exit_status -29"),
        ("cancelled", "busy_nodes", "CANCELLED", "it was cancelled, but not by this session"),
        ("cancelled_waiting", "busy_nodes", "CANCELLED", "job 7.head had not started; it was cancelled"),
        ("node_lost", "nodes", "FAILED", "a node of it failed"),
        ("first_node_lost", "nodes", "FAILED", "a node of it failed"),
    ],
)
def test_a_job_that_pbs_ends_says_why(job, pbs, name, nodes, state, says):
    pbs.has(nodes)
    pbs.knows(name)
    assert polled(job) == (state, True)
    assert says in job.scheduler.why_failed(job).text


def test_a_job_that_this_session_cancels_needs_no_reason(job, pbs):
    job.scheduler.cancel(job)
    pbs.knows("cancelled")
    assert polled(job) == ("CANCELLED", True) and job.scheduler.why_failed(job) is None


def test_a_job_that_waits_for_too_long_is_cancelled_once(job, pbs, clock):
    job.max_pending_time = 10
    clock.now = job.submit_time + 9
    pbs.knows("held")
    polled(job)
    assert "qdel" not in pbs.calls
    clock.now = job.submit_time + 11
    polled(job)
    polled(job)
    assert pbs.calls.count("qdel 7.head\n") == 1
    pbs.knows("cancelled_waiting")
    assert polled(job) == ("CANCELLED", True)
    assert "PBS says: it is held (Hold_Types u): n1, n2 taken" in job.scheduler.why_failed(job).text


@pytest.mark.parametrize(("name", "nodes"), [("pending", "nodes"), ("never", "busy_nodes")])
def test_a_job_that_cannot_start_does_not_wait(job, pbs, clock, monkeypatch, name, nodes):
    monkeypatch.setattr(patience, "OUT_OF_SERVICE_S", 0)
    clock.now = job.submit_time
    pbs.has(nodes)
    pbs.knows(name)
    polled(job)
    assert "qdel 7.head\n" in pbs.calls
    assert "job 7.head cannot start after 0 s in the queue" in job.scheduler.why_failed(job).text


@pytest.mark.parametrize(
    ("bound", "error", "says"),
    [
        ("SILENCE_S", "Connection refused", "qstat has failed for 0 s; it may still be in the queue"),
        ("UNKNOWN_S", "qstat: Unknown Job Id 7.head", "PBS does not know it; does its server have job_history_enable?"),
    ],
)
def test_a_job_of_which_nothing_is_heard_is_given_up(job, pbs, clock, monkeypatch, bound, error, says):
    pbs.knows("", error)
    assert polled(job)[1] is False
    monkeypatch.setattr(patience, bound, 0)
    assert polled(job) == ("FAILED", True)
    assert job.scheduler.why_failed(job).text == f"job 7.head was given up: {says}"


def test_without_a_history_a_job_that_ran_has_ended(job, pbs, monkeypatch):
    pbs.knows("running")
    polled(job)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0)
    pbs.knows("", (PRINTED / "unknown.err").read_text())
    assert polled(job) == ("COMPLETED", True) and job.scheduler.why_failed(job) is None


def test_what_qsub_refuses_is_one_line(job, pbs):
    pbs.takes("", 170, (PRINTED / "no_queue.err").read_text().strip())
    with pytest.raises(JobSchedulerError) as raised:
        job.scheduler.submit(job)
    assert str(raised.value) == "qsub: qsub: Unknown queue"
