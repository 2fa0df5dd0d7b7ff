# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-local``: a job over its limit ends like others, so that its output is read."""

import socket
from pathlib import Path

from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import take_system
from tests.loading import SETTINGS

CAUSE = "prog: error while loading shared libraries: libgone.so"


def submitted(folder, monkeypatch, *commands):
    monkeypatch.chdir(folder)
    take_system([str(SETTINGS)], "local")
    scheduler = getscheduler("fabric-local")()
    job = Job.create(scheduler, getlauncher("local")(), name="a")
    job.time_limit = "10m"
    job.prepare(list(commands), None, [])
    job.submit()
    return job


def test_a_launcher_that_never_returns_is_told_by_its_limit_and_output(
    tmp_path, monkeypatch
):
    job = submitted(tmp_path, monkeypatch, f"echo '{CAUSE}' >&2", "exec sleep 1000")
    while CAUSE not in Path(job.stderr).read_text():
        job.scheduler.poll(job)
    assert job.scheduler.why_failed(job) is None and not job.finished()
    job.time_limit = 0.001
    job.wait()
    assert job.finished(), "and raises nothing"
    assert job.scheduler.why_failed(job).text == (
        f"job {job.jobid} ran on {socket.gethostname()}; it ran over its time limit (0.001 s)"
    )


def test_a_job_that_ends_by_itself_is_explained_by_its_output(tmp_path, monkeypatch):
    job = submitted(tmp_path, monkeypatch, "exit 3")
    job.wait()
    assert job.finished() and job.exitcode == 3
    assert job.scheduler.why_failed(job) is None
