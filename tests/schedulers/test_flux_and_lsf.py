# SPDX-License-Identifier: BSD-3-Clause
"""What the project's own schedulers do beyond job scripts, which tests/checks/test_job_scripts.py has.

Here a `flux` command stands in for Flux: it notes what it is called with, and prints what tests/golden/flux has of a
real one. tests/cluster/test_flux.py has it live.
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

PRINTED = GOLDEN / "flux" / "0.88.0"
STAND_IN = """#!/bin/sh
echo "$@" >> {folder}/calls
case $1 in
batch) cat {folder}/batch; cat {folder}/batch.err >&2; exit $(cat {folder}/status) ;;
job) shift 3; [ "$1" = fAbc ] && echo 1004 ;;
jobs) cat {folder}/jobs ;;
resource) [ $2 = status ] && cat {printed}/nodes.txt || cat {printed}/allocated.txt ;;
esac
"""


@pytest.fixture
def make_job(tmp_path, monkeypatch):
    """Return a function that makes a job for a scheduler; its script exists."""
    take_system([str(SETTINGS)], "generic_flux")
    monkeypatch.chdir(tmp_path)

    def make(scheduler, **attributes):
        job = Job.create(
            getscheduler(scheduler)(),
            getlauncher("local")(),
            name="rfm_A",
            workdir=str(tmp_path),
            script_filename="a.sh",
        )
        job.num_tasks, job.num_tasks_per_node, job.time_limit = 4, 2, 90
        for name, value in attributes.items():
            setattr(job, name, value)
        Path("a.sh").write_text("#!/bin/bash\n")
        return job

    return make


class Flux:
    """The stand-in."""

    def __init__(self, folder):
        self.folder = folder
        command = folder / "flux"
        command.write_text(STAND_IN.format(folder=folder, printed=PRINTED))
        command.chmod(0o755)
        self.takes("fAbc")

    def takes(self, line, status=0, error=""):
        """Say what `flux batch` prints, and how it ends."""
        for name, text in (("batch", line), ("batch.err", error), ("status", str(status))):
            (self.folder / name).write_text(f"{text}\n")

    def knows(self, name, **more):
        """Say what becomes of the job."""
        text = json.dumps(json.loads((PRINTED / f"{name}.json").read_text()) | {"id": 1004} | more) if name else ""
        (self.folder / "jobs").write_text(text)

    @property
    def calls(self):
        return (self.folder / "calls").read_text()


@pytest.fixture
def flux(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return Flux(folder)


def polled(job):
    job.scheduler.poll(job, None)
    return job.state, job.completed


def test_a_job_is_handed_to_flux_batch_and_watched(make_job, flux):
    job = make_job("fabric-flux")
    job.submit()
    assert flux.calls.splitlines()[0] == "batch a.sh"
    assert (job.jobid, job.state, job.completed) == ("1004", "PENDING", False)
    flux.knows("pending", nnodes=1)
    assert polled(job) == ("PENDING", False) and job.scheduler.began(job) is None
    flux.knows("running")
    assert polled(job) == ("RUNNING", False) and list(job.nodelist) == ["n3", "n4"]
    flux.knows("failed")
    assert polled(job) == ("FAILED", True) and job.exitcode == 3
    assert job.finished() and job.scheduler.why_failed(job) is None
    assert job.scheduler.began(job) == "2026-11-22T16:43:10+00:00"


def test_a_job_that_flux_ends_says_why(make_job, flux):
    job = make_job("fabric-flux")
    job.submit()
    flux.knows("node_lost")
    assert polled(job) == ("FAILED", True)
    ending = job.scheduler.why_failed(job)
    assert ending.text.startswith("job 1004 ran on n1, n2; a node of it failed (node-failure: node failure on n2")
    assert ending.node_faults == {"n2": "n2 is down"}


def test_a_job_that_this_session_cancels_needs_no_reason(make_job, flux):
    job = make_job("fabric-flux")
    job.submit()
    job.scheduler.cancel(job)
    flux.knows("cancelled")
    assert polled(job) == ("CANCELLED", True) and job.scheduler.why_failed(job) is None


def test_a_job_that_waits_for_too_long_is_cancelled_once(make_job, flux, clock):
    job = make_job("fabric-flux", max_pending_time=10)
    job.submit()
    clock.now = job.submit_time + 9
    flux.knows("held", nnodes=1)
    polled(job)
    assert "cancel" not in flux.calls
    clock.now = job.submit_time + 11
    polled(job)
    polled(job)
    assert flux.calls.count("cancel 1004\n") == 1
    flux.knows("cancelled_waiting")
    assert polled(job) == ("CANCELLED", True)
    said = job.scheduler.why_failed(job).text
    assert "job 1004 is still waiting after 11 s in the queue and was cancelled; Flux says: it is held" in said
    assert "n1, n2, n3, n4 taken by other jobs (4 of 4 nodes)" in said and not job.nodelist


def test_a_job_that_is_forgotten_after_it_was_cancelled_keeps_the_reason(make_job, flux, clock, monkeypatch):
    job = make_job("fabric-flux", max_pending_time=10)
    job.submit()
    clock.now = job.submit_time + 11
    flux.knows("held", nnodes=1)
    polled(job)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0)
    flux.knows("held", id=1005)
    assert polled(job) == ("FAILED", True)
    assert "is still waiting after 11 s" in job.scheduler.why_failed(job).text


def test_a_job_that_too_few_nodes_are_in_service_for_does_not_wait(make_job, flux, clock, monkeypatch):
    monkeypatch.setattr(patience, "OUT_OF_SERVICE_S", 0)
    job = make_job("fabric-flux")
    job.submit()
    clock.now = job.submit_time
    flux.knows("pending")
    polled(job)
    assert "cancel 1004\n" in flux.calls
    assert "job 1004 cannot start after 0 s in the queue" in job.scheduler.why_failed(job).text


@pytest.mark.parametrize(
    ("bound", "name", "says"),
    [
        ("SILENCE_S", "", "flux jobs has failed for 0 s; it may still be in the queue"),
        ("UNKNOWN_S", "other", "Flux does not know it; perhaps it was restarted and lost its jobs"),
    ],
)
def test_a_job_of_which_nothing_is_heard_is_given_up(make_job, flux, clock, monkeypatch, bound, name, says):
    job = make_job("fabric-flux")
    job.submit()
    flux.knows("running", id=1005) if name else flux.knows("")
    assert polled(job) == ("PENDING", False)
    monkeypatch.setattr(patience, bound, 0)
    assert polled(job) == ("FAILED", True)
    assert job.scheduler.why_failed(job).text == f"job 1004 was given up: {says}"


@pytest.mark.parametrize(
    ("line", "status", "error", "message"),
    [
        ("", 1, (PRINTED / "no_queue.err").read_text(), "flux batch: flux-batch: ERROR: 'x' is not a valid queue"),
        ("", 0, "", "flux batch printed '' instead of a job id"),
        ("hello; rm x", 0, "", "flux batch printed 'hello; rm x' instead of a job id"),
    ],
)
def test_what_flux_refuses_is_one_line(make_job, flux, line, status, error, message):
    flux.takes(line, status, error)
    with pytest.raises(JobSchedulerError) as raised:
        make_job("fabric-flux").submit()
    assert str(raised.value) == message


def test_without_flux_a_script_is_written_and_a_submission_says_what_is_missing(make_job):
    job = make_job("fabric-flux")
    assert "#flux: --nodes=2" in job.scheduler.emit_preamble(job)
    with pytest.raises(JobSchedulerError, match=r"flux batch: .*flux"):
        job.submit()


def test_flux_passes_on_what_a_job_adds(make_job):
    job = make_job("fabric-flux", exclusive_access=True, num_cpus_per_task=3, options=["--requires=host:n1"])
    assert job.scheduler.emit_preamble(job)[3:] == [
        "#flux: --nodes=2",
        "#flux: --nslots=4",
        "#flux: --cores-per-slot=3",
        "#flux: --time-limit=90s",
        "#flux: --exclusive",
        "#flux: --requires=host:n1",
    ]


def test_lsf_rounds_minutes_up_and_passes_on_what_a_job_adds(make_job):
    job = make_job("fabric-lsf", exclusive_access=True, num_cpus_per_task=3, options=["-q long", "#NOTE x"])
    assert job.scheduler.emit_preamble(job)[3:] == [
        "#BSUB -n 4",
        '#BSUB -R "span[ptile=2]"',
        '#BSUB -R "affinity[core(3)]"',
        "#BSUB -W 2",
        "#BSUB -x",
        "#BSUB -q long",
        "#NOTE x",
    ]
