# SPDX-License-Identifier: BSD-3-Clause
"""The contract of every scheduler of this collection; tests/cluster has three of them live.

Job scripts are in tests/checks/test_job_scripts.py.
"""

import pytest
from reframe.core.exceptions import JobSchedulerError

from fabric_checks.schedulers import watchdog
from tests.schedulers.stand_ins import ALL, WATCHED, standing_clock


def over(*kinds):
    return pytest.mark.parametrize(
        "tools", kinds, indirect=True, ids=lambda kind: kind.name
    )


@pytest.fixture
def tools(request, tmp_path, monkeypatch):
    return request.param(tmp_path, monkeypatch)


@pytest.fixture
def clock(monkeypatch):
    return standing_clock(monkeypatch, watchdog)


def polled_for(tools, job, clock, seconds):
    """Poll every second until so long has passed or the job is over; return the text of why it failed."""
    for _ in range(seconds + 2):
        if tools.polled(job)[1]:
            break
        clock.now += 1
    reason = tools.scheduler.why_failed(job)
    return reason and reason.text


@over(*ALL)
def test_a_job_is_watched_from_the_queue_to_its_end(tools, clock):
    job = tools.submitted()
    assert job.jobid == tools.made
    tools.knows("waiting")
    state, is_over = tools.polled(job)
    assert state in ("PENDING", "HELD") and not is_over
    tools.knows("running")
    assert tools.polled(job) == ("RUNNING", False)
    tools.knows("failed")
    clock.now += 60
    assert tools.polled(job)[1]
    if tools.name == "fabric-lsf":
        return
    assert job.state == "FAILED"
    assert job.exitcode == 3
    assert len(job.nodelist) == 2
    assert tools.scheduler.why_failed(job) is None, "its output explains it"
    assert tools.scheduler.began(job)[:4] == "2026" and "T" in tools.scheduler.began(
        job
    )


@over(*WATCHED)
def test_a_refused_submission_is_one_line_and_not_repeated(tools):
    command, answer = tools.refused
    tools.say(command, answer)
    with pytest.raises(JobSchedulerError) as raised:
        tools.submitted()
    assert str(raised.value) == tools.refusal and len(tools.calls) == 1


@over(*WATCHED)
def test_a_job_that_loses_a_node_names_it(tools, clock):
    job = tools.submitted()
    tools.knows("lost")
    text, node_faults = tools.lost
    assert text in polled_for(tools, job, clock, 60)
    assert tools.scheduler.why_failed(job).text.startswith(
        f"job {tools.made} ran on n1, n2; "
    )
    assert dict(tools.scheduler.why_failed(job).node_faults) == node_faults


@over(*WATCHED)
def test_a_job_that_this_session_cancels_needs_no_reason(tools):
    job = tools.submitted()
    tools.scheduler.cancel(job)
    tools.knows("cancelled")
    assert tools.polled(job) == ("CANCELLED", True)
    assert tools.scheduler.why_failed(job) is None


@over(*WATCHED)
def test_a_job_that_waits_for_too_long_is_cancelled_once(tools, clock):
    job = tools.submitted(max_pending_time=10)
    tools.knows("waiting", **({"nnodes": 1} if tools.name == "fabric-flux" else {}))
    clock.now = job.submit_time + 9
    tools.polled(job)
    assert not tools.count(tools.cancels)
    clock.now = job.submit_time + 11
    for _ in range(3):
        tools.polled(job)
    assert tools.count(tools.cancels) == 1
    tools.knows("cancelled")
    text = polled_for(tools, job, clock, 60)
    assert (
        f"job {tools.made} is still waiting after 11 s in the queue and was cancelled; {tools.waits_for}"
        in text
    )
    assert job.state == "CANCELLED" and not job.nodelist


@over(*WATCHED)
def test_a_job_that_completes_after_all_has_not_failed(tools, clock):
    job = tools.submitted(max_pending_time=1)
    tools.knows("waiting")
    clock.now = job.submit_time + 2
    tools.polled(job)
    assert tools.scheduler.why_failed(job)
    tools.knows("completed")
    assert tools.polled(job) == ("COMPLETED", True)
    assert tools.scheduler.why_failed(job) is None


@over(*WATCHED)
def test_too_few_nodes_in_service_end_the_wait_if_they_stay_so(tools, clock):
    job = tools.submitted()
    tools.has_too_few_nodes()
    tools.knows("waiting")
    clock.now = job.submit_time + 1
    tools.polled(job)
    clock.now += watchdog.OUT_OF_SERVICE_S - 1
    tools.polled(job)
    assert not tools.count(tools.cancels), "a node that is back soon is waited for"
    clock.now += 60
    tools.polled(job)
    assert tools.count(tools.cancels) == 1
    assert (
        f"job {tools.made} cannot start after" in tools.scheduler.why_failed(job).text
    )


@over(*WATCHED)
@pytest.mark.parametrize("case", ["silent", "unknown"])
def test_a_job_that_nothing_is_heard_of_is_given_up(tools, clock, case):
    job = tools.submitted()
    tools.knows("waiting")
    tools.polled(job)
    tools.is_silent() if case == "silent" else tools.forgets()
    assert not tools.polled(job)[1]
    bound = watchdog.SILENCE_S if case == "silent" else watchdog.UNKNOWN_S
    text = polled_for(tools, job, clock, round(bound) + 120)
    assert text.startswith(f"job {tools.made} was given up: {getattr(tools, case)}")
    assert job.state == "FAILED"


@over(*WATCHED)
def test_a_job_that_is_forgotten_after_it_was_cancelled_keeps_the_reason(tools, clock):
    job = tools.submitted(max_pending_time=10)
    tools.knows("waiting")
    clock.now = job.submit_time + 11
    tools.polled(job)
    tools.forgets()
    assert "is still waiting after 11 s" in polled_for(tools, job, clock, 20)


@over(*WATCHED)
def test_a_scheduler_is_not_asked_again_at_once(tools, clock, monkeypatch):
    monkeypatch.setattr(watchdog, "PAUSE_S", 1.0)
    job = tools.submitted()
    tools.knows("running")
    tools.polled(job)
    asked = len(tools.calls)
    tools.polled(job)
    assert len(tools.calls) == asked
    clock.now += 1
    tools.polled(job)
    assert len(tools.calls) > asked


@over(*ALL)
def test_a_script_is_written_without_the_scheduler(tools):
    for name in tools.commands:
        (tools.folder / name).unlink()
    assert any("2" in line for line in tools.job().scheduler.emit_preamble(tools.job()))
    if tools.name != "fabric-lsf":
        with pytest.raises(
            JobSchedulerError, match=r"^(flux batch|qsub|sbatch): .*(flux|qsub|sbatch)"
        ):
            tools.submitted()
