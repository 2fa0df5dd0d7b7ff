# SPDX-License-Identifier: BSD-3-Clause
"""How long a job is waited for: while its scheduler is silent, does not know it, or has no nodes for it.

What the schedulers share whose jobs are known by one command that can be asked again and again. That of Slurm has two
sources, accounting and controller, and rules of its own for the two of them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from reframe.core.exceptions import SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers.endings import Ending

#: So long a job waits for nodes that are out of service before it is cancelled, if there are too few others.
OUT_OF_SERVICE_S = 30.0
#: So often, while a job waits, it is seen whether there are.
ASK_NODES_S = 5.0
#: So long a scheduler may be silent, as when it is restarted, or not know a job, before the job is given up.
SILENCE_S, UNKNOWN_S = 180.0, 15.0


@dataclass
class Watch:
    """What is known about a job beside what ReFrame keeps."""

    failure: Ending | None = None
    began: str | None = None  # ISO 8601 with time zone
    cancelled: bool = False
    # Since when, in seconds of the monotonic clock, something is wrong; None while it is not.
    silent: float | None = None
    unknown: float | None = None
    hopeless: float | None = None
    nodes_asked: float = 0.0


def since(previous: float | None) -> tuple[float, float]:
    """Return when a state of things began, and how long it has lasted, in seconds."""
    now = time.monotonic()
    begin = now if previous is None else previous
    return begin, now - begin


class Patience(ABC):
    """A part of a scheduler; a job as the scheduler has it, and a node, are of its own parser's types."""

    #: The command that tells of jobs.
    asks: str

    def __init__(self) -> None:
        super().__init__()
        self._watches: dict[str, Watch] = {}

    @abstractmethod
    def cancel(self, job: Job) -> None:
        """Cancel a job."""

    @staticmethod
    @abstractmethod
    def _end(job: Job) -> None:
        """Let ReFrame see that a job is over."""

    @abstractmethod
    def _nodes(self) -> list[Any]:
        """Return the nodes as they are now."""

    @abstractmethod
    def _is_hopeless(self, now: Any, nodes: list[Any]) -> bool:
        """Tell whether too few nodes are in service for a job."""

    @abstractmethod
    def _waiting(self, job: Job, waited_s: float, now: Any, nodes: list[Any], *, hopeless: bool) -> Ending:
        """Return why a job that waits is cancelled."""

    def _watch(self, job: Job) -> Watch:
        return self._watches.setdefault(str(job.jobid), Watch())

    def why_failed(self, job: Job) -> Ending | None:
        """Return why a job that has ended failed, with its nodes, or None if its output has to say it."""
        return self._watch(job).failure

    def began(self, job: Job) -> str | None:
        """Return when a job began, ISO 8601 with time zone; None if it has not."""
        return self._watch(job).began

    def _bear_silence(self, job: Job, said: str) -> None:
        watch = self._watch(job)
        if watch.silent is None:
            getlogger().warning(f"{self.asks} fails ({' '.join(said.split())}); trying again")
        watch.silent, seconds = since(watch.silent)
        if seconds >= SILENCE_S:
            self._give_up(job, f"{self.asks} has failed for {seconds:.0f} s; it may still be in the queue")

    def _is_forgotten(self, job: Job) -> bool:
        """Tell whether a job that is unknown now has been so for long enough."""
        watch = self._watch(job)
        watch.unknown, seconds = since(watch.unknown)
        return seconds >= UNKNOWN_S

    def _give_up(self, job: Job, why: str) -> None:
        watch = self._watch(job)
        watch.failure = watch.failure or Ending(f"job {job.jobid} was given up: {why}")
        note(job, state="FAILED")
        self._end(job)

    def _cancel_if_in_vain(self, job: Job, now: Any) -> None:
        """Cancel a job that has waited for too long, or that too few nodes are in service for."""
        watch = self._watch(job)
        if watch.cancelled:
            return
        waited_s = time.time() - job.submit_time
        is_late = bool(job.max_pending_time) and waited_s >= job.max_pending_time
        if not is_late and time.monotonic() < watch.nodes_asked + ASK_NODES_S:
            return
        watch.nodes_asked = time.monotonic()
        nodes = self._nodes()
        if not is_late:
            if not self._is_hopeless(now, nodes):
                watch.hopeless = None
                return
            watch.hopeless, seconds = since(watch.hopeless)
            if seconds < OUT_OF_SERVICE_S:
                return
        watch.failure = self._waiting(job, waited_s, now, nodes, hopeless=not is_late)
        self.cancel(job)


def last_line(error: Exception) -> str:
    """Return the last line of what a command said, or why it could not be started."""
    lines = (error.stderr or "").split("\n") if isinstance(error, SpawnedProcessError) else []
    return next((line.strip() for line in reversed(lines) if line.strip()), str(error))
