# SPDX-License-Identifier: BSD-3-Clause
"""What the project's own schedulers do beyond job scripts, which tests/checks/test_job_scripts.py has.

There is no Flux here: a `flux` command that notes what it is called with, and a module in place of its Python bindings,
stand in for it. They keep to what flux-batch(1) and the bindings' FluxExecutor document.
"""

import concurrent.futures
import stat
import sys
import time
import types
from pathlib import Path

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobError, JobSchedulerError
from reframe.core.schedulers import Job

import fabric_checks.reframe_ext.launchers
import fabric_checks.reframe_ext.schedulers.flux
import fabric_checks.reframe_ext.schedulers.lsf  # noqa: F401  (they register)
from fabric_checks.reframe_ext.internals import take_system
from tests.loading import SETTINGS


class StandInFuture(concurrent.futures.Future):
    """A FluxExecutorFuture of a job that the test ends."""

    def __init__(self):
        super().__init__()
        self.callbacks = {}

    def add_event_callback(self, event, callback):
        self.callbacks[event] = callback


class StandInExecutor:
    """A FluxExecutor that knows what it was attached to."""

    def attach(self, jobid):
        future = StandInFuture()
        future.jobid = jobid
        return future


def stand_in_id(text):
    """Read a job id, which flux batch prints in base 58 with the prefix f."""
    if not text.startswith("f"):
        raise ValueError(f"{text} is not a valid Flux jobid")
    return 1000 + len(text)


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


@pytest.fixture
def flux(tmp_path, monkeypatch):
    """Put the stand-ins in place; return a function that says what `flux` prints and how it ends."""
    bindings = types.ModuleType("flux")
    bindings.job = types.ModuleType("flux.job")
    bindings.job.FluxExecutor, bindings.job.JobID = StandInExecutor, stand_in_id
    monkeypatch.setitem(sys.modules, "flux", bindings)
    monkeypatch.setitem(sys.modules, "flux.job", bindings.job)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def says(line, status=0, error=""):
        command = folder / "flux"
        command.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho "{line}"\necho "{error}" >&2\nexit {status}\n'
        )
        command.chmod(command.stat().st_mode | stat.S_IXUSR)

    says("fAbc")
    return says


def test_a_job_is_handed_to_flux_batch_and_watched(make_job, flux):
    job = make_job("fabric-flux")
    job.submit()
    assert Path("calls").read_text() == "batch a.sh\n"
    assert (job.jobid, job.state, job.completed) == ("1004", "PENDING", False)
    job.future.callbacks["start"](job.future, None)
    job.scheduler.poll(job)
    assert (job.state, job.completed) == ("RUNNING", False)
    job.future.set_result(3)
    job.scheduler.poll(job, None)
    assert (job.state, job.completed, job.exitcode) == ("COMPLETED", True, 3)
    assert job.finished() and job.scheduler.why_failed(job) is None


def test_a_job_that_flux_ends_says_why(make_job, flux):
    job = make_job("fabric-flux")
    job.submit()
    job.future.set_exception(RuntimeError("job.exception: type=timeout: resource allocation expired"))
    job.scheduler.poll(job)
    assert (job.state, job.finished()) == ("FAILED", True)
    assert job.scheduler.why_failed(job) == "job 1004: job.exception: type=timeout: resource allocation expired"


def test_a_job_that_waits_for_too_long_is_cancelled_once(make_job, flux):
    job = make_job("fabric-flux", max_pending_time=10)
    job.submit()
    job.scheduler.poll(job)
    assert "cancel" not in Path("calls").read_text()
    job._submit_time = time.time() - 11
    job.scheduler.poll(job)
    job.scheduler.poll(job)
    assert Path("calls").read_text() == "batch a.sh\ncancel 1004\n"
    with pytest.raises(JobError, match="maximum pending time exceeded"):
        job.future.set_exception(RuntimeError("type=cancel"))
        job.scheduler.poll(job)
        job.finished()
    assert job.state == "CANCELLED"


@pytest.mark.parametrize(
    ("line", "status", "error", "message"),
    [
        ("", 1, "flux-batch: ERROR: no queue x", "flux batch: flux-batch: ERROR: no queue x"),
        ("", 0, "", "flux batch printed no job id but ''"),
        ("hello", 0, "", "flux batch printed no job id but 'hello'"),
    ],
)
def test_what_flux_refuses_is_one_line(make_job, flux, line, status, error, message):
    flux(line, status, error)
    with pytest.raises(JobSchedulerError) as raised:
        make_job("fabric-flux").submit()
    assert str(raised.value) == message


def test_without_bindings_a_script_is_written_and_a_submission_says_what_is_missing(make_job, monkeypatch):
    monkeypatch.setitem(sys.modules, "flux", None)
    job = make_job("fabric-flux")
    assert "#flux: --nodes=2" in job.scheduler.emit_preamble(job)
    with pytest.raises(JobSchedulerError, match="Flux's Python bindings cannot be loaded .* pip install flux-python=="):
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
