# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-in-slurm-job`` and its like: each job script is a step of one allocation, one after the other, or
beside others on other nodes where that is asked for.

ReFrame's ``local`` starts a script on the host of ReFrame, next to those of other partitions, and takes its
process for the job. This one asks for the allocation when the first case is ready and nothing is built any
more, starts a script where a job of its own would start it, knows what no longer fits into the time that is
left, and why a case failed with its allocation.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import SkipTestError
from reframe.core.schedulers import AlwaysIdleNode, Job, JobScheduler

from fabric_checks.core.text import count_text
from fabric_checks.records.record import case_name
from fabric_checks.records.runs import NOT_RUN
from fabric_checks.records.sessions import session_id
from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers import in_job, model
from fabric_checks.schedulers.in_job.allocation import NODES_VARIABLE, Allocation
from fabric_checks.schedulers.model import ExitReason

#: How long a script may tidy up when it is ended, and what is left for that at the end of an allocation.
GRACE_S, RESERVE_S = 5.0, 15.0
#: How long the end of a case is waited for before ReFrame looks after all others, which may be thousands; how
#: often it is looked for.
WAIT_S, LOOK_S = 0.5, 0.02


class Step(Job):
    """A case in the queue of its allocation, or running in it."""

    process: subprocess.Popen[bytes] | None = None
    files: tuple[IO[bytes], ...] = ()
    failure: ExitReason | None = None
    began: str | None = None
    began_s = 0.0
    ended_s: float | None = None
    has_ended = False
    #: Skips the case with a reason; ``needed_s`` estimates how long it takes, and ``may_share`` says whether
    #: others may run beside it.
    skip: Callable[[str], None] | None = None
    needed_s = 0.0
    may_share = False

    @property
    def nodes_needed(self) -> int:
        """How many nodes it is laid out on."""
        return int(self.num_tasks // (self.num_tasks_per_node or 1))


class Queue:
    """The cases of a run and their allocation.

    :param may_begin: tells whether the allocation can be used at once; until then it is not asked for.

    ``estimates_s`` has how long cases take, in seconds, by name; ``busy_s`` is how long cases ran, and
    ``busy_node_s`` that times their nodes.
    """

    def __init__(
        self, allocation: Allocation, may_begin: Callable[[], bool] = lambda: True
    ) -> None:
        self.allocation, self.may_begin = allocation, may_begin
        self.estimates_s: Mapping[str, float] = {}
        self.waiting: deque[Step] = deque()
        self.running: list[Step] = []
        self.busy_s = self.busy_node_s = 0.0
        self._count = 0
        self._asked = self._is_closed = False

    def add(self, step: Step) -> None:
        """Put a case behind the others."""
        self._count += 1
        note(step, jobid=f"{self._count}", submit_time=time.time(), state="PENDING")
        self.waiting.append(step)
        self.advance()

    def wait(self) -> None:
        """Wait for the allocation, or for the end of a case that runs, but not for long."""
        until_s = time.monotonic() + WAIT_S
        while self._has_to_wait() and time.monotonic() < until_s:
            time.sleep(LOOK_S)

    def _has_to_wait(self) -> bool:
        if self.running:
            return all(
                each.process and each.process.poll() is None for each in self.running
            )
        return self._asked and not (self.allocation.held or self.allocation.ended)

    def advance(self) -> None:
        """Follow the cases that run, and start the next."""
        allocation = self.allocation
        if self._asked or (self.waiting and self.may_begin()):
            self._asked = True
            allocation.follow()
        for step in list(self.running):
            self._follow(step)
        if (allocation.held or allocation.ended) and not self._is_closed:
            self._start_next()

    def _start_next(self) -> None:
        """Start the cases at the head for which there is room, or say why they cannot start."""
        while self.waiting and self._has_room(self.waiting[0]):
            if not self.allocation.ended and not self.allocation.is_ready():
                break
            self._start_or_refuse(self.waiting.popleft())

    def withdraw(self, step: Step) -> None:
        """End a case that ReFrame gives up, which it does with all of them: none begins any more."""
        self._is_closed = True
        if step in self.waiting:
            self.waiting.remove(step)
            self._conclude(step, "CANCELLED")
        elif step in self.running:
            self._end(step)

    def _has_room(self, step: Step) -> bool:
        """Tell whether a case can start beside those that run."""
        if not self.running:
            return True
        share = step.may_share and all(each.may_share for each in self.running)
        return share and len(self._nodes_of(step)) == step.nodes_needed

    def _start_or_refuse(self, step: Step) -> None:
        allocation = self.allocation
        if allocation.ended and not allocation.held:
            step.failure = allocation.ended
            self._conclude(step, "CANCELLED")
        elif allocation.ended:
            self._pass_over(step, f"the allocation ended ({allocation.ended.text})")
        elif allocation.ends_s - time.monotonic() < step.needed_s + RESERVE_S:
            self._pass_over(step, f"too little time of job {allocation.job} was left")
        elif len(nodes := self._nodes_of(step)) < step.nodes_needed:
            self._lack(step)
        else:
            self._start(step, nodes)

    def _nodes_of(self, step: Step) -> list[str]:
        """Return the first nodes that are left; of a case that names its nodes, those of them."""
        used = {name for each in self.running for name in each.nodelist}
        usable = [name for name in self.allocation.usable if name not in used]
        named = [name for name in step.pin_nodes or usable if name in usable]
        return named[: step.nodes_needed]

    def _pass_over(self, step: Step, why: str) -> None:
        try:
            if step.skip:
                more = f"`ci/run --one-job --continue {session_id()}` goes on"
                step.skip(f"{NOT_RUN}{why}; {more}")
        except SkipTestError as error:
            note(step, exception=error)
        self._conclude(step, "CANCELLED")

    def _lack(self, step: Step) -> None:
        """Fail a case for which too few nodes are left."""
        allocation = self.allocation
        left = f"{len(allocation.usable)} of {count_text(step.nodes_needed, 'node')}"
        faults = dict(allocation.lost)
        text = f"the allocation, job {allocation.job}, has {left}"
        text += f" left: {model.listed(faults)}" if faults else ""
        step.failure = ExitReason(text, faults)
        self._conclude(step, "NODE_FAIL")

    def _start(self, step: Step, nodes: list[str]) -> None:
        allocation, folder = self.allocation, Path(step.workdir)
        line = allocation.line(
            str(folder / step.script_filename),
            nodes,
            step.num_tasks_per_node or 1,
            folder,
        )
        step.files = tuple(
            (folder / name).open("wb") for name in (step.stdout, step.stderr)
        )
        step.process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=step.files[0], stderr=step.files[1],
            cwd=folder, start_new_session=True,
        )  # fmt: skip
        step.began_s = time.monotonic()
        step.began = datetime.now(timezone.utc).isoformat(timespec="seconds")
        note(
            step,
            jobid=f"{allocation.job}/{step.jobid}",
            nodelist=nodes,
            state="RUNNING",
        )
        self.running.append(step)

    def _follow(self, step: Step) -> None:
        process = step.process
        if process is None or process.poll() is None:
            self._bound(step)
            return
        for file in step.files:
            file.close()
        took_s = time.monotonic() - step.began_s
        self.busy_s += took_s
        self.busy_node_s += took_s * step.nodes_needed
        status = process.returncode
        note(step, exitcode=status if status >= 0 else 128 - status)
        self.running.remove(step)
        has_failed = status or self.allocation.was_cut(self._end_of_errors(step))
        if has_failed and not step.failure:
            step.failure = self._why(step)
        if has_failed:
            self.allocation.end_steps(step.nodelist)
        self._conclude(step, "FAILED" if has_failed else "COMPLETED")

    @staticmethod
    def _end_of_errors(step: Step) -> bytes:
        """Return the end of what a script printed on standard error."""
        with (Path(step.workdir) / step.stderr).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 2**16, 0))
            end: bytes = file.read()
            return end

    def _why(self, step: Step) -> ExitReason | None:
        """Return why a case failed if its allocation or nodes explain it; None if its output does."""
        self.allocation.check()
        found = self._reason(step, model.NODE_FAILED)
        return self.allocation.ended or (found if found.node_faults else None)

    def _reason(self, step: Step, cause: str) -> ExitReason:
        """Return a cause with the faults of the nodes of a case."""
        faults = self.allocation.note_faults()
        own = {name: faults[name] for name in step.nodelist if name in faults}
        text = f"case {step.jobid} ran on {', '.join(step.nodelist)}; {cause}"
        return ExitReason(f"{text}: {model.listed(own)}" if own else text, own)

    def _bound(self, step: Step) -> None:
        """End a case that is over its limit, or over that of the allocation."""
        now = time.monotonic()
        limit_s = float(step.time_limit) if step.time_limit else float("inf")
        if step.ended_s is not None:
            if now >= step.ended_s + GRACE_S:
                self._signal(step, signal.SIGKILL)
        elif self.allocation.ended:
            self._end(step, self.allocation.ended)
        elif now >= self.allocation.ends_s - GRACE_S:
            self._end(step, self._reason(step, "the time of its allocation ended"))
        elif now - step.began_s >= limit_s:
            cause = f"{model.OVER_LIMIT} ({limit_s:.0f} s)"
            self._end(step, self._reason(step, cause))

    def _end(self, step: Step, failure: ExitReason | None = None) -> None:
        step.failure, step.ended_s = failure, time.monotonic()
        self.allocation.end_steps(step.nodelist)
        self._signal(step, signal.SIGTERM)

    @staticmethod
    def _signal(step: Step, number: int) -> None:
        try:
            if step.process:
                os.killpg(step.process.pid, number)
        except ProcessLookupError:
            pass  # it has just ended

    @staticmethod
    def _conclude(step: Step, state: str) -> None:
        note(step, state=state, completion_time=time.time())
        step.has_ended = True


#: The queue of this process; a run has one.
_QUEUES: list[Queue] = []


def take(queue: Queue) -> None:
    """Let all partitions of this process have one queue."""
    _QUEUES[:] = [queue]


def _may_share(nodes: int, check: Any) -> bool:
    """Tell whether other cases may run beside a case on so many nodes."""
    asked = os.environ.get(in_job.BESIDE)
    is_of_fabric = getattr(check, "needs_whole_fabric", False)
    return bool(asked) and (
        nodes == 1 or (asked == in_job.BETWEEN and not is_of_fabric)
    )


class InJobScheduler(JobScheduler):
    """Start each job in the one allocation of the run."""

    def make_job(self, *args: Any, **kwargs: Any) -> Job:
        """Return a job that is not yet submitted."""
        return Step(*args, **kwargs)

    def join(self, job: Job, check: Any) -> None:
        """Let a check that was set up keep to its nodes, and be skipped if the allocation ends before it."""
        facts = {
            "system": check.current_system.name,
            "partition": check.current_partition.name,
            "environ": check.current_environ.name,
            "test": check.display_name,
        }
        job.skip = check.skip
        job.may_share = _may_share(job.nodes_needed, check)
        job.needed_s = _QUEUES[0].estimates_s.get(case_name(facts), 0.0)
        job.launcher.options = [*job.launcher.options, *self.pin(job)]

    @staticmethod
    def pin(job: Job, nodes: int | None = None) -> list[str]:
        """Return the options with which a launcher keeps to the nodes of a case.

        :param nodes: to so many of them; None for all.
        """
        launcher = str(job.launcher.registered_name)
        if launcher == "srun":
            some = f"$(scontrol show hostnames | head -n{nodes} | paste -sd,)"
            return [f"--nodelist={some if nodes else '$SLURM_JOB_NODELIST'}"]
        if launcher.startswith("flux-run"):
            some = f"$(echo ${NODES_VARIABLE} | cut -d, -f-{nodes})"
            return [f"--requires=host:{some if nodes else f'${NODES_VARIABLE}'}"]
        return []

    def emit_preamble(self, job: Job) -> list[str]:
        """Return no line: what a job needs is asked for once, for all."""
        return []

    def allnodes(self) -> list[AlwaysIdleNode]:
        """Return the nodes of the allocation."""
        return [AlwaysIdleNode(name) for name in _QUEUES[0].allocation.usable]

    def filternodes(self, job: Job, nodes: list[Any]) -> list[Any]:
        """Return these nodes."""
        return nodes

    def submit(self, job: Job) -> None:
        """Put a job behind the others."""
        _QUEUES[0].add(job)

    def poll(self, *jobs: Job) -> None:
        """Bring all jobs up to date, and start the next."""
        _QUEUES[0].wait()
        _QUEUES[0].advance()

    def wait(self, job: Job) -> None:
        """Wait for the end of a job."""
        while not self.finished(job):
            _QUEUES[0].advance()
            time.sleep(0.01)

    def cancel(self, job: Job) -> None:
        """End a job."""
        _QUEUES[0].withdraw(job)

    def finished(self, job: Job) -> bool:
        """Tell whether a job has ended."""
        return bool(job.has_ended)

    def why_failed(self, job: Job) -> ExitReason | None:
        """Return why a job failed, or None if its output explains it."""
        failure: ExitReason | None = job.failure
        return failure

    def began(self, job: Job) -> str | None:
        """Return when a job began, ISO 8601 with time zone; None if it has not."""
        began: str | None = job.began
        return began


for _name in {*in_job.INSIDE.values()}:
    register_scheduler(_name)(type(InJobScheduler.__name__, (InJobScheduler,), {}))
