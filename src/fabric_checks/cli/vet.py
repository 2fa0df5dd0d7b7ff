# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks vet``, which ``ci/run --mode vet`` calls when everything is set up."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    ending,
    json_option,
    metrics_option,
    name_option,
    number_option,
    passed_on,
    system_option,
    verb,
)
from fabric_checks.core import console, paths
from fabric_checks.core.errors import FabricError
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text, names_text, one_line
from fabric_checks.nightly import service
from fabric_checks.nightly.plan import folder_of
from fabric_checks.nightly.vetting import budget as costs
from fabric_checks.nightly.vetting import machine
from fabric_checks.nightly.vetting.group_jobs import Jobs
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.nightly.wall import gauges
from fabric_checks.records import sessions

_EPILOG = """
\b
ci/run --mode vet sets up what is missing and then runs this command.

\b
Examples:
  fabric-checks vet --system oak --budget 8000
  fabric-checks vet --system oak --budget 60 --only n17,n18,n19
"""

_STATUSES = {
    0: "every node is good",
    FAILED: "no node is slow or faulty, but some were not seen; or the vet itself failed",
    FOUND: "a node or a path is slow or faulty",
}


@verb("vet", _EPILOG, _STATUSES)
@system_option
@number_option("--budget", "Node-minutes that may be spent.", least=1e-3, required=True)
@number_option("--step-minutes", "The time limit of each job.", least=0.1, default=5)
@metrics_option
@name_option("--only", "Only these nodes, separated by commas.  [default: all]")
@json_option
@passed_on
def command(
    *,
    system: str | None,
    budget: float,
    step_minutes: float,
    only: str | None,
    metrics: Path | None,
    as_json: bool,
    options: tuple[str, ...],
) -> None:
    """Judge every node: good, slow, faulty, or not seen. Needs Slurm, Flux or PBS.

    All nodes are measured at once by the case that is tagged `vet`, which names the slow ones. A job that
    fails is repeated on parts of its nodes, and on single nodes with a healthy partner, until the faulty ones
    are named. What is behind -- goes to ReFrame.
    """
    found = machine.look(system, [*filter(None, (only or "").split(","))])
    _require_pairs(found)
    session = sessions.new_session_id()
    results = paths.results().absolute()
    jobs = Jobs(session, results, found.partition, found.environ, step_minutes, options)
    verdicts, spent = costs.spend(
        found.nodes, jobs.run, budget, step_minutes, found.switches
    )
    verdicts.reasons |= found.away
    for node in found.away:
        verdicts.words[node] = Word.FAULTY if node in found.lost else Word.NOT_SEEN
    bad = [*verdicts.of(Word.FAULTY), *verdicts.of(Word.SLOW)]
    drain, too_many = _drain(bad, found, session)
    if as_json:
        data = {
            "session": session, "budget": budget, "partition": found.partition, "environ": found.environ,
            "away": found.away, "switches": found.switches, "spent": asdict(spent),
            "nodes": {node: word.value for node, word in verdicts.words.items()}, "reasons": verdicts.reasons,
            "paths": verdicts.paths, "notes": verdicts.notes, "drain": drain,
            "no_drain": too_many, "sessions": jobs.sessions,
        }  # fmt: skip
        console.print_json(data)
    else:
        _show(verdicts, spent, budget, found, session)
        lines = ["To take them out of service:", f"  {drain}"] if drain else [too_many]
        console.print(*filter(None, lines))
    faults = _write_gauges(metrics, found.partition, session, verdicts)
    console.error(*faults)
    raise ending(
        found=bad or verdicts.paths, failed=faults or verdicts.of(Word.NOT_SEEN)
    )


def _require_pairs(found: machine.Machine) -> None:
    if len(found.nodes) < 2:
        raise FabricError(
            f"{found.partition}: {'1 node takes' if found.nodes else '0 nodes take'} jobs, but pairs need"
            f" two: {'; '.join(found.away.values()) or 'there are no others'}"
        )


def _drain(bad: Sequence[str], found: machine.Machine, session: str) -> tuple[str, str]:
    """Return the command by which an administrator takes bad nodes out of service, or why none is given.

    It is printed and never run. Where many nodes are bad at once, what they share is the likely cause, and
    draining them would stop the machine for it.
    """
    if len(bad) > max(found.size // 10, 1):
        why = (
            f"{len(bad)} of {count_text(found.size, 'node')} are slow or faulty, more than a tenth of the"
            " machine: no command to drain them is given; look for what they share, such as a switch"
        )
        return "", why
    words = service.drain_command(found.scheduler, bad, f"fabric-checks vet {session}")
    return shlex.join(words) if bad else "", ""


def _write_gauges(
    folder: Path | None, partition: str, session: str, verdicts: Verdicts
) -> list[str]:
    """Write the gauges of a vet; return what went wrong, a line each."""
    system = partition.partition(":")[0]
    folder = folder or folder_of(paths.results().absolute(), system)
    try:
        gauges.of_vet(partition, session, verdicts).write(folder, "vet")
    except OSError as error:
        return [
            f"error: {error.filename}: {error.strerror}: the gauges of this vet are not written"
        ]
    return []


def _show(
    verdicts: Verdicts,
    spent: costs.Spent,
    budget: float,
    found: machine.Machine,
    session: str,
) -> None:
    numbers = {word.value: len(verdicts.of(word)) for word in Word}
    counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
    if verdicts.paths:
        counts += f"; {count_text(len(verdicts.paths), 'path')} to look at"
    console.print(
        f"{found.partition}, {count_text(len(verdicts.words), 'node')}: {counts}",
        f"{count_text(spent.jobs, 'job')} in {count_text(spent.rounds, 'round')}, {spent.node_minutes:.3g} of"
        f" {budget:g} node-minutes; {session}",
    )
    table = _table(verdicts, found.switches)
    console.print_rich([table] if table.row_count else [])
    console.print(*verdicts.paths, *verdicts.notes)


def _table(verdicts: Verdicts, switches: Mapping[str, str]) -> Table:
    """Return the nodes that are not good, those of one switch and one reason together."""
    table = Table("node", "switch", "verdict", "why", box=None, pad_edge=False)
    for word in (Word.FAULTY, Word.SLOW, Word.NOT_SEEN):
        is_seen = word is not Word.NOT_SEEN
        at_switches = switches if is_seen else {}

        def place(node: str, at: Mapping[str, str] = at_switches) -> tuple[str, str]:
            return at.get(node, ""), verdicts.reasons.get(node, "")

        for (at, why), nodes in by_key(verdicts.of(word), place).items():
            shown = ", ".join(nodes) if is_seen else names_text(nodes, 8)
            table.add_row(*map(one_line, (shown, at, word.value, why)))
    return table
