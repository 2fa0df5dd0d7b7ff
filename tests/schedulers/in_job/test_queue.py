# SPDX-License-Identifier: BSD-3-Clause
"""Cases as steps of one allocation: their order, their nodes, and why one does not run."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import SkipTestError
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import take_system
from fabric_checks.schedulers import in_job as in_one_job
from fabric_checks.schedulers.in_job import scheduler as in_job
from fabric_checks.schedulers.in_job.allocation import Allocation, Request, Slurm
from fabric_checks.schedulers.model import ExitReason
from tests.guard import wait_for
from tests.loading import SETTINGS


class Nodes(Allocation):
    """An allocation of this host under several names."""

    asked = 0
    away = 0
    faults: dict[str, str] = {}

    def follow(self):
        self.asked += 1
        if not self.held and not self.ended:
            self.take("5", ["n1", "n2", "n3"])
            self.ends_s = self.began_s + self.request.limit_s

    def line(self, script, nodes, ppn, folder):
        return ["env", f"NODES={' '.join(nodes)}", f"PPN={ppn}", "sh", script]

    was_cut = Slurm.was_cut

    def is_ready(self):
        self.away -= 1
        return self.away < 0

    def note_faults(self):
        self.lost.update(self.faults)
        return self.lost


@pytest.fixture
def queue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    take_system([str(SETTINGS)], "minicluster")
    found = in_job.Queue(Nodes(Request(3, 600)))
    in_job.take(found)
    return found


def submitted(name, script="echo $NODES $PPN", nodes=1, ppn=2, **more):
    """Submit a case; it skips as a check does."""
    scheduler = getscheduler("fabric-in-slurm-job")()
    folder = Path(name)
    folder.mkdir()
    job = Job.create(
        scheduler,
        getlauncher("local")(),
        name=name,
        workdir=str(folder.absolute()),
        script_filename="job.sh",
        stdout="out",
        stderr="err",
    )
    (folder / "job.sh").write_text(script)
    job.num_tasks, job.num_tasks_per_node = nodes * ppn, ppn
    for key, value in more.items():
        setattr(job, key, value)

    def skip(why):
        raise SkipTestError(why)

    job.skip = skip
    scheduler.submit(job)
    return job


def ended(*jobs):
    """Poll until jobs have ended; return their states."""

    def all_have():
        jobs[0].scheduler.poll(*jobs)
        return all(job.has_ended for job in jobs)

    wait_for(all_have, "a case has not ended")
    return [job.state for job in jobs]


def reason(job):
    return job.scheduler.why_failed(job).text


def test_cases_run_one_after_the_other_on_their_nodes(queue):
    log = Path("log").absolute()
    script = f"echo begin >> {log}; echo $NODES $PPN; sleep 0.1; echo end >> {log}"
    first = submitted("a", script, nodes=2)
    second = submitted("b", script, nodes=3, ppn=1)
    assert ended(first, second) == ["COMPLETED", "COMPLETED"]
    assert log.read_text().split() == ["begin", "end"] * 2
    assert Path("a/out").read_text() == "n1 n2 2\n"
    assert Path("b/out").read_text() == "n1 n2 n3 1\n"
    assert (first.nodelist, first.jobid) == (["n1", "n2"], "5/1")
    assert first.exitcode == 0 and first.scheduler.why_failed(first) is None
    assert first.scheduler.began(first)


def test_a_case_starts_when_it_is_submitted_and_its_end_is_waited_for(
    queue, monkeypatch
):
    monkeypatch.setattr(in_job, "WAIT_S", 60.0)
    first = submitted("a", "sleep 0.3")
    assert queue.running == [first]
    second = submitted("b", "sleep 60")
    first.scheduler.poll(first, second)
    assert first.has_ended and queue.running == [second]
    second.scheduler.cancel(second)
    ended(second)


def test_cases_that_may_run_beside_each_other_on_nodes_of_their_own(queue):
    wide = submitted("wide", "sleep 60", nodes=2, may_share=True)
    narrow = submitted("narrow", "sleep 60", may_share=True)
    alone, last = submitted("alone"), submitted("last", may_share=True)
    queue.advance()
    assert queue.running == [wide, narrow]
    assert (wide.nodelist, narrow.nodelist) == (["n1", "n2"], ["n3"])
    ended_on = []
    queue.allocation.end_steps = ended_on.append
    narrow.process.kill()
    narrow.process.wait()
    queue.advance()
    assert queue.running == [wide] and ended_on == [["n3"]]
    wide.process.kill()
    assert ended(alone, last) == ["COMPLETED", "COMPLETED"]
    assert alone.nodelist == ["n1"]


@pytest.mark.parametrize(
    "asked, nodes, is_of_fabric, may_share",
    [
        ("", 1, False, False),
        ("within", 1, True, True),
        ("within", 2, False, False),
        ("between", 2, False, True),
        ("between", 2, True, False),
    ],
)
def test_which_cases_may_run_beside_others(
    monkeypatch, asked, nodes, is_of_fabric, may_share
):
    monkeypatch.setenv(in_one_job.BESIDE, asked)
    check = SimpleNamespace(needs_whole_fabric=is_of_fabric)
    assert in_job._may_share(nodes, check) == may_share


def test_nothing_is_asked_for_while_something_is_built(queue):
    is_built = []
    queue.may_begin = lambda: bool(is_built)
    job = submitted("a")
    job.scheduler.poll(job)
    assert queue.allocation.asked == 0 and job.state == "PENDING"
    is_built.append(True)
    assert ended(job) == ["COMPLETED"]


def test_what_does_not_fit_into_the_time_that_is_left_is_skipped_with_its_reason(queue):
    first, long, short = submitted("a"), submitted("b", needed_s=900.0), submitted("c")
    ended(first, long, short)
    with pytest.raises(
        SkipTestError, match="not run: too little time of job 5 was left; .*--continue"
    ):
        long.finished()
    assert first.state == short.state == "COMPLETED" and not Path("b/out").exists()


def test_an_allocation_that_is_refused_fails_the_case_with_the_refusal(queue):
    queue.allocation.ended = ExitReason("salloc: Invalid partition name specified")
    job = submitted("a")
    ended(job)
    assert reason(job) == "salloc: Invalid partition name specified"


def test_the_end_of_the_allocation_ends_a_case_with_its_reason_and_skips_the_rest(
    queue,
):
    running, rest = submitted("a", "exec sleep 60"), submitted("b")
    running.scheduler.poll(running)
    assert running.state == "RUNNING"
    queue.allocation.ended = ExitReason("job 5 was preempted")
    assert ended(running, rest) == ["FAILED", "CANCELLED"]
    assert reason(running) == "job 5 was preempted"
    with pytest.raises(
        SkipTestError, match="not run: the allocation ended .*preempted"
    ):
        rest.finished()


def test_a_lost_node_fails_its_case_and_those_that_fit_go_on_with_the_others(queue):
    queue.allocation.faults = {"n1": "n1 does not respond"}
    hit = submitted("a", "exit 1", nodes=3)
    wide, fits = submitted("b", nodes=3), submitted("c", nodes=2)
    assert ended(hit, wide, fits) == ["FAILED", "NODE_FAIL", "COMPLETED"]
    assert "a node of it failed: n1 does not respond" in reason(hit)
    assert "has 2 of 3 nodes left: n1 does not respond" in reason(wide)
    assert wide.scheduler.why_failed(wide).node_faults == {"n1": "n1 does not respond"}
    assert fits.nodelist == ["n2", "n3"]


def test_a_script_whose_node_died_has_failed_though_srun_ends_with_0(queue):
    """As of Slurm 22.05, where srun of a step in an allocation that goes on without a node ends so."""
    queue.allocation.faults = {"n1": "n1 does not respond"}
    hit = submitted("a", "echo srun: error: Node failure on n1 >&2", nodes=2)
    assert ended(hit, submitted("b")) == ["FAILED", "COMPLETED"]
    assert hit.exitcode == 0
    assert "a node of it failed: n1 does not respond" in reason(hit)


def test_a_case_that_names_its_nodes_has_those(queue):
    case, other = submitted("a", nodes=2, pin_nodes=["n2", "n3"]), submitted("b")
    ended(case, other)
    assert (case.nodelist, other.nodelist) == (["n2", "n3"], ["n1"])


def test_a_case_that_fails_by_itself_is_explained_by_its_output(queue):
    job, next_one = submitted("a", "exit 3"), submitted("b")
    ended(job, next_one)
    assert (job.exitcode, job.scheduler.why_failed(job)) == (3, None)
    assert next_one.state == "COMPLETED"


def test_a_case_that_hangs_is_ended_at_its_limit_with_all_that_it_started(queue):
    job = submitted("a", "sleep 60 & echo $! > pid; wait", time_limit="1s")
    next_one = submitted("b")
    ended(job, next_one)
    assert "it ran over its time limit (1 s)" in reason(job)
    assert next_one.state == "COMPLETED"
    pid = int(Path("a/pid").read_text())
    wait_for(lambda: not Path(f"/proc/{pid}/cwd").exists(), "it still runs")


def test_a_case_ends_before_its_allocation_does(queue, monkeypatch):
    job = submitted("a", "exec sleep 60")
    job.scheduler.poll(job)
    queue.allocation.ends_s = time.monotonic()
    ended(job)
    assert "the time of its allocation ended" in reason(job)


def test_after_an_interrupt_no_other_case_begins(queue):
    first, second = submitted("a", "exec sleep 60"), submitted("b")
    first.scheduler.poll(first)
    first.scheduler.cancel(first)
    ended(first)
    second.scheduler.poll(second)
    assert second.state == "PENDING"
    second.scheduler.cancel(second)
    assert second.state == "CANCELLED" and second.finished()


def test_a_script_without_a_time_limit_is_not_ended(queue):
    job = submitted("a", "sleep 0.1", time_limit=None)
    assert ended(job) == ["COMPLETED"] and Path("a/err").exists()


def test_a_case_waits_while_nodes_are_yet_to_report(queue):
    queue.allocation.away = 4
    job = submitted("one")
    for _ in range(3):
        queue.advance()
        assert job.state == "PENDING" and not queue.running
    job.scheduler.wait(job)
    assert job.state == "COMPLETED"
