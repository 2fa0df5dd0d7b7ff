# SPDX-License-Identifier: BSD-3-Clause
"""Rules of one scheduler alone, of Flux and PBS."""

import pytest
from reframe.core.exceptions import JobSchedulerError

from fabric_checks.schedulers import reservations, watchdog
from tests.schedulers.stand_ins import Flux, Pbs, standing_clock


@pytest.fixture
def flux(tmp_path, monkeypatch):
    return Flux(tmp_path, monkeypatch)


@pytest.fixture
def pbs(tmp_path, monkeypatch):
    return Pbs(tmp_path, monkeypatch)


@pytest.fixture
def lsf(pbs):
    pbs.name = "fabric-lsf"
    return pbs


@pytest.mark.parametrize("line", ["", "hello; rm x"])
def test_flux_batch_that_prints_no_job_id_is_an_error(flux, line):
    flux.say("flux-batch", line)
    flux.say("flux-job", (1, "", "not a job id"))
    with pytest.raises(
        JobSchedulerError, match=f"^flux batch printed '{line}' instead of a job id$"
    ):
        flux.submitted()
    assert flux.calls[0] == "flux batch a.sh"


def test_flux_passes_on_the_options_of_a_job(flux):
    job = flux.job(
        exclusive_access=True, num_cpus_per_task=3, options=["--requires=host:n1"]
    )
    assert job.scheduler.emit_preamble(job)[3:] == [
        "#flux: --nodes=2",
        "#flux: --nslots=4",
        "#flux: --cores-per-slot=3",
        "#flux: --time-limit=90s",
        "#flux: --exclusive",
        "#flux: --requires=host:n1",
    ]


@pytest.mark.parametrize("names, select", [
    ("", "2:mpiprocs=2:ncpus=6"),
    ("n3,n5", "1:mpiprocs=2:ncpus=6:host=n3+1:mpiprocs=2:ncpus=6:host=n5"),
    ("n3,n5,n7", "1:mpiprocs=2:ncpus=6:host=n3+1:mpiprocs=2:ncpus=6:host=n5"),
])  # fmt: skip
def test_pbs_is_asked_for_a_chunk_on_each_node_that_is_named(
    pbs, monkeypatch, names, select
):
    monkeypatch.setenv(reservations.NODES, names)
    job = pbs.job(num_cpus_per_task=3, options=["-l place=excl"])
    lines = job.scheduler.emit_preamble(job)
    assert f"#PBS -l select={select}" in lines
    assert "#PBS -l place=excl" in lines
    assert "#PBS -r n" in lines


def test_a_job_that_pbs_can_never_run_does_not_wait(pbs, monkeypatch):
    monkeypatch.setattr(watchdog, "OUT_OF_SERVICE_S", 0)
    job = pbs.submitted()
    pbs.knows("never")
    pbs.polled(job)
    assert "cannot start after 0 s in the queue" in job.scheduler.why_failed(job).text
    assert pbs.count("qdel 7.head") == 1


def test_without_a_history_a_job_of_pbs_that_ran_has_ended(pbs, monkeypatch):
    clock = standing_clock(monkeypatch, watchdog)
    job = pbs.submitted()
    pbs.knows("running")
    pbs.polled(job)
    pbs.say("qstat", (1, "", (pbs.printed / "unknown.err").read_text()))
    pbs.polled(job)
    clock.now += watchdog.UNKNOWN_S
    assert pbs.polled(job) == ("COMPLETED", True)
    assert job.scheduler.why_failed(job) is None


@pytest.mark.parametrize(("scheduler", "line"), [
    ("flux", "#flux: --requires=host:n3,n5"),
    ("pbs", "#PBS -l select=1:mpiprocs=2:ncpus=2:host=n3+1:mpiprocs=2:ncpus=2:host=n5"),
    ("lsf", '#BSUB -m "n3 n5"'),
])  # fmt: skip
def test_a_job_is_pinned_to_the_nodes_of_a_miss(request, scheduler, line):
    job = request.getfixturevalue(scheduler).job()
    assert line not in job.scheduler.emit_preamble(job)
    job.pin_nodes = ["n3", "n5"]
    assert line in job.scheduler.emit_preamble(job)
