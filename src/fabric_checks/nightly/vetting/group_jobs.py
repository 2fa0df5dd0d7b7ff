# SPDX-License-Identifier: BSD-3-Clause
"""Run the jobs of a round: a ReFrame each, with the case that is tagged ``vet`` on the nodes of its group, at
once."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.core.finding import Finding
from fabric_checks.core.levels import VET
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import count_text, one_line
from fabric_checks.diagnosis import limits
from fabric_checks.nightly.supervision import supervised
from fabric_checks.nightly.vetting.group_tests import Group, Outcome
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.folding import as_text
from fabric_checks.records.record import Record, is_success, never_began
from fabric_checks.report.sight import FEWEST_NODES
from fabric_checks.schedulers import reservations

#: How long a job may be in the queue at least: somebody else may have taken its nodes meanwhile.
MOST_PENDING_MINUTES = 5


class VetError(FabricError):
    """A job of a vet that shows nothing of its nodes, as where nothing could be built."""


@dataclass
class Jobs:
    """The jobs of a vet.

    :param session: its name; each job has a session with a number behind it.
    :param partition: ``SYSTEM:PARTITION`` of ReFrame's configuration; :param environ: the environment.
    :param limit_minutes: of each job; it may be so long in the queue, too, or :data:`MOST_PENDING_MINUTES`.
    :param options: more of ReFrame's.
    :param sessions: those that have been, in order.
    """

    session: str
    results: Path
    partition: str
    environ: str
    limit_minutes: float
    options: tuple[str, ...] = ()
    sessions: list[str] = field(default_factory=list)

    def run(self, groups: Sequence[Group]) -> list[tuple[Outcome, float]]:
        """Run a job on each group, all at once, and return the outcome and for how many minutes it ran.

        :raises VetError: if a job shows nothing of its nodes.
        """
        names = [
            f"{self.session}-{len(self.sessions) + number}"
            for number, _ in enumerate(groups, 1)
        ]
        self.sessions += names
        done = []
        for name, (last, minutes) in zip(
            names, run_all(list(map(self._command, names, groups))), strict=True
        ):
            try:
                session = runs.load_session(self.results, name)
            except RecordError:
                raise VetError(f"{name}: ReFrame left nothing: {last}") from None
            ran = [
                record["elapsed_s"] / 60
                for record in session.records[:1]
                if record.get("elapsed_s")
            ]
            done.append((outcome_of(session, last), ran[0] if ran else minutes))
        return done

    def _command(self, session: str, group: Group) -> tuple[list[str], dict[str, str]]:
        """Return the command of a job, and its variables of the environment."""
        limit_s = max(1, round(60 * self.limit_minutes))
        pending_s = max(limit_s, 60 * MOST_PENDING_MINUTES)
        line = [
            "reframe", "-c", str(ROOT / "checks"), "--system", self.partition,
            "--tag", f"^{VET}$", "-n", f"%layout={len(group)}x1$", "-p", f"^{self.environ}$",
            "-S", f"time_limit={limit_s}s", "-S", f"max_pending_time={pending_s}s", *self.options, "-r",
        ]  # fmt: skip
        return line, {
            "FABRIC_SESSION": session,
            "FABRIC_RESULTS": str(self.results),
            reservations.NODES: as_text(group),
        }


def outcome_of(session: runs.Session, last: str) -> Outcome:
    """Return the outcome for the nodes of a session of one case.

    A case that misses references has run: its findings say how fast the nodes are.

    :param last: the last line that ReFrame printed.
    :raises VetError: if no case ran, or what it needs could not be built.
    """
    case = _only_case(session, last)
    passed = is_success(case.result) or case.phase == "performance"
    lines = (case.reason or "").strip().splitlines() or [case.result]
    outcome = Outcome(passed, why=one_line(lines[0]))
    if not session.records:  # of a job that was not accepted there is none
        return replace(outcome, refused=case.phase == "run")
    return _of_record(outcome, session.records[0])


def _of_record(outcome: Outcome, record: Record) -> Outcome:
    """Return an outcome with what the record of its job says of the nodes."""
    faults = {} if outcome.passed else record["node_faults"] or {}
    found = [(each, one_line(each.text)) for each in findings_of(record)]
    paths = [text for each, text in found if each.is_fault and len(each.hosts) != 1]
    noise = [text for each, text in found if each.kind == "noise"]
    known = record.get("limits")
    return replace(
        outcome,
        faulty={node: one_line(fault) for node, fault in faults.items()},
        slow=_slow(found),
        paths=tuple(paths),
        notes=(*noise, limits.text(known)) if known else tuple(noise),
        unsure=_unsure(record, noise),
        waited=not (outcome.passed or faults) and never_began(record),
    )


def _only_case(session: runs.Session, last: str) -> runs.Case:
    cases = [
        case
        for case in session.cases
        if not case.fixture and case.result not in ("skip", "fail_deps")
    ]
    if len(cases) != 1:
        broken = [
            case.reason or ""
            for case in session.cases
            if case.fixture and not is_success(case.result)
        ]
        why = [
            *map(one_line, broken),
            f"{count_text(len(cases), 'case')} ran instead of one: {last}",
        ]
        raise VetError(f"{session.name}: {why[0]}")
    return cases[0]


def _slow(found: Sequence[tuple[Finding, str]]) -> dict[str, str]:
    """Return the nodes that findings blame, each with all that is said of it."""
    slow: dict[str, str] = {}
    for each, text in found:
        if each.is_fault and len(each.hosts) == 1:
            node = each.hosts[0]
            slow[node] = f"{slow[node]}; {text}" if node in slow else text
    return slow


#: A job has to be able to name a node that has lost so much of its rate.
LEAST_SIGHT = 0.5


def _unsure(record: Record, noise: Sequence[str]) -> str:
    """Return why a run does not show which nodes are slow; nothing if it does."""
    least = (record.get("limits") or {}).get("node", 0.0)
    if least is None:
        is_unsure, text = (
            noise or record["nodes"] >= FEWEST_NODES,
            "no node would have been named",
        )
    else:
        is_unsure = least > LEAST_SIGHT
        text = f"only a node slower by {100 * least:.0f} % would have been named"
    return next(iter(noise), text) if is_unsure else ""


def run_all(
    lines: Sequence[tuple[list[str], dict[str, str]]],
) -> list[tuple[str, float]]:
    """Run commands at once; return for each the last line that it printed, and how many minutes it took."""
    began = time.monotonic()
    with supervised() as start:
        running = []
        for line, environment in lines:
            env = os.environ | environment
            try:
                running.append(
                    start(
                        line,
                        env=env,
                        stdout=subprocess.PIPE,
                        text=True,
                        errors="replace",
                    )
                )
            except OSError as error:
                raise VetError(
                    f"{line[0]}: {error.strerror}; call ci/run --mode vet, or `. ci/env.sh` first"
                ) from None
        done = []
        # A pipe holds little: each is read to its end, and waits for that at worst.
        for process in running:
            printed = process.communicate()[0].strip().splitlines()
            minutes = (time.monotonic() - began) / 60
            done.append((one_line((printed or ["it printed nothing"])[-1]), minutes))
        return done
