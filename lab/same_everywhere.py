# SPDX-License-Identifier: BSD-3-Clause
"""Compare the smoke level on four nodes under each scheduler: values, placements and reasons of failures.

    python -m lab.same_everywhere FOLDER               Slurm, Flux and OpenPBS, some ten minutes each
    python -m lab.same_everywhere FOLDER slurm flux    two of them

The programs measure for a moment (short.py). Three more sessions of one case each fail: a reference is
missed, the program ends with status 3, the program is killed by a signal. FOLDER keeps the results of each
scheduler; a session that it has is not run again. The exit status is 0 only if all are the same as under the
first scheduler.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.records.record import is_success
from fabric_checks.records.runs import load_session
from tests.cluster.conftest import CI, Cluster
from tests.conftest import FABRIC_CHECKS, TESTS

SCHEDULERS = ("slurm", "flux", "pbs")
NODES = 4
ONE = ("-n", "^OsuBarrier%layout=2x1$")
SHORT = ("-C", str(TESTS / "cluster/short.py"))
PLAYBACK = ("-C", str(TESTS / "playback/settings.py"))
#: What `ci/run` is told in each session.
SESSIONS = {
    "smoke": ("--mode", "smoke", *SHORT),
    "a reference is missed": (*ONE, *SHORT),
    "a program ends with 3": (*ONE, *PLAYBACK),
    "a program is killed": (*ONE, *PLAYBACK),
}
COMMANDS = {
    "a program ends with 3": "sh -c 'exit 3'",
    "a program is killed": "sh -c 'kill -SEGV $$'",
}
LAUNCHERS = {"slurm": "srun", "flux": "flux-run", "pbs": "mpiexec"}
#: No barrier of two nodes takes a nanosecond.
REFERENCES = """\
OsuBarrier:
  $index: [layout]
  2x1: {latency: [0.001, null, 0.1, us]}
no_reference:
- {check: '(?!OsuBarrier$).*', why: not judged}
"""
LONG_S = 7200


@dataclass(frozen=True)
class Case:
    """What there is of a case but its values."""

    result: str
    phase: str | None
    metrics: frozenset[tuple[str, str]]  # name and unit
    judged: frozenset[tuple[str, str]]  # name and result
    placements: frozenset[tuple[str, ...]]  # host and CPUs of each rank
    reason: str


@dataclass(frozen=True)
class Seen:
    """A session: the exit statuses of `ci/run` and of the gate, and the cases by test and MPI."""

    run: int
    gate: int
    cases: dict[tuple[str, str], Case]

    @property
    def mpis(self) -> set[str]:
        return {mpi for _, mpi in self.cases}


def name_of(what: str) -> str:
    return f"20260101T000000Z-{what.replace(' ', '-')}"


def run(scheduler: str, folder: Path, mpis: str) -> None:
    """Run what of the sessions is not there yet, on one cluster."""
    left = [
        what for what in SESSIONS if not (folder / f"{name_of(what)}.status").exists()
    ]
    if not left:
        return
    references = folder / "references"
    references.mkdir(parents=True, exist_ok=True)
    (references / "minicluster.yaml").write_text(REFERENCES)
    cluster = Cluster()
    try:
        cluster(
            "up",
            "--nodes",
            str(NODES),
            "--rate",
            "100gbit",
            "--scheduler",
            scheduler,
            timeout=LONG_S,
        )
        for what in left:
            print(f"{scheduler}: {what}", file=sys.stderr)
            variables = {"FABRIC_RESULTS": str(folder), "FABRIC_SESSION": name_of(what)}
            if what in COMMANDS:
                variables |= {
                    "PLAYBACK_COMMAND": COMMANDS[what],
                    "PLAYBACK_LAUNCHER": LAUNCHERS[scheduler],
                }
            elif what != "smoke":
                variables["RFM_REFERENCE_PREFIX"] = str(references)
            line = [
                str(CI / "run"),
                "--system",
                "minicluster",
                "--mpi",
                mpis,
                *SESSIONS[what],
            ]
            done = cluster.tried("head", *line, timeout=LONG_S, **variables)
            (folder / f"{name_of(what)}.out").write_text(done.stdout + done.stderr)
            show = [
                sys.executable,
                str(FABRIC_CHECKS),
                "show",
                "--session",
                name_of(what),
                "--gate",
            ]
            gate = cluster.tried("head", *show, timeout=LONG_S, **variables)
            (folder / f"{name_of(what)}.status").write_text(
                json.dumps([done.returncode, gate.returncode])
            )
    finally:
        cluster.end()


def read(folder: Path, what: str) -> Seen:
    """Return what a session left."""
    session = load_session(folder, name_of(what))
    cases = {}
    for case in session.cases:
        if case.fixture:
            continue
        test, _, where = case.name.partition(" @")
        mpi = where.rpartition("+")[2]
        of = [
            record
            for record in session.records
            if (record["test"], record["environ"]) == (test, mpi)
        ]
        measured = [record for record in of if record["metric"] is not None]
        cases[test, mpi] = Case(
            result=case.result,
            phase=case.phase,
            metrics=frozenset(
                (record["metric"], record["unit"]) for record in measured
            ),
            judged=frozenset(
                (record["metric"], record["result"]) for record in measured
            ),
            placements=frozenset(tuple(record["placement"] or ()) for record in of),
            reason=case.reason or "",
        )
    status, gate = json.loads((folder / f"{name_of(what)}.status").read_text())
    return Seen(status, gate, cases)


def differences(first: Seen, other: Seen) -> list[str]:
    """Return in what a session differs from that under the first scheduler, for the MPIs that both have."""
    found = []
    if (first.run, first.gate) != (other.run, other.gate):
        found.append(
            f"exit statuses {other.run}/{other.gate}, not {first.run}/{first.gate}"
        )
    both = first.mpis & other.mpis
    for key in sorted(
        key for key in first.cases.keys() | other.cases.keys() if key[1] in both
    ):
        mine, theirs = first.cases.get(key), other.cases.get(key)
        if mine is None or theirs is None:
            found.append(
                f"{' '.join(key)} is {'missing' if theirs is None else 'more'}"
            )
            continue
        for part in ("result", "phase", "metrics", "judged", "placements"):
            one, two = getattr(mine, part), getattr(theirs, part)
            if one != two:
                shown = [
                    sorted(each) if isinstance(each, frozenset) else each
                    for each in (two, one)
                ]
                found.append(f"{' '.join(key)}: {part} {shown[0]}, not {shown[1]}")
    return found


def rows(seen: dict[str, dict[str, Seen]]) -> list[list[str]]:
    """Return the table: what was counted, and that under each scheduler."""
    table = [["", *seen]]
    for what in SESSIONS:
        sessions = [of[what] for of in seen.values()]
        table.append(
            [
                f"{what}: ci/run / gate",
                *(f"{each.run}/{each.gate}" for each in sessions),
            ]
        )
        for mpi in sorted(set().union(*(each.mpis for each in sessions))):
            cells = []
            for each in sessions:
                cases = [case for (_, its), case in each.cases.items() if its == mpi]
                passed = sum(is_success(case.result) for case in cases)
                values, places = (
                    sum(len(getattr(case, part)) for case in cases)
                    for part in ("metrics", "placements")
                )
                said = f"{passed} of {len(cases)} passed; {values} values, {places} placements"
                cells.append(said if cases else "-")
            table.append([f"  {mpi}", *cells])
    return table


def hosts(seen: Seen) -> str:
    """Return on which nodes the cases ran, and how many on each of these."""
    ran = Counter(
        "+".join(dict.fromkeys(rank.split(":")[0] for rank in placement))
        for case in seen.cases.values()
        for placement in case.placements
        if placement
    )
    return ", ".join(f"{count} on {where}" for where, count in sorted(ran.items()))


def main() -> int:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("folder", type=Path)
    asked.add_argument(
        "--mpi",
        default="mpich,impi",
        help="as for ci/run (default: %(default)s, which all can start)",
    )
    asked.add_argument("schedulers", nargs="*", default=SCHEDULERS, metavar="SCHEDULER")
    options = asked.parse_args()
    if unknown := set(options.schedulers) - set(SCHEDULERS):
        asked.error(
            f"{', '.join(sorted(unknown))} is not one of {', '.join(SCHEDULERS)}"
        )
    for name in ("FABRIC_CLUSTER", "FABRIC_CLUSTER_SCHEDULER"):
        os.environ.pop(name, None)
    seen = {}
    for scheduler in options.schedulers:
        folder = options.folder.resolve() / scheduler
        run(scheduler, folder, options.mpi)
        seen[scheduler] = {what: read(folder, what) for what in SESSIONS}
    table = rows(seen)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print(
            "  ".join(
                cell.ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )
    first, *others = seen
    different = 0
    for scheduler in seen:
        print(f"\n{scheduler}: smoke: {hosts(seen[scheduler]['smoke'])}")
        for what in list(SESSIONS)[1:]:
            for (_, mpi), case in sorted(seen[scheduler][what].cases.items()):
                print(
                    f"{scheduler}: {what}, {mpi}: {' '.join(re.sub(r'/[^ ]*/', '', case.reason).split())}"
                )
    for scheduler in others:
        for what in SESSIONS:
            for line in differences(seen[first][what], seen[scheduler][what]):
                different += 1
                print(f"{scheduler}, {what}: {line}")
    print(f"\n{different} differences" if different else "\nno difference")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
