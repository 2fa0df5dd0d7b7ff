# SPDX-License-Identifier: BSD-3-Clause
"""The commands ``fabric-checks references ...``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fabric_checks.cli import choosing, reference_files
from fabric_checks.core import console
from fabric_checks.core.paths import ROOT
from fabric_checks.references import edit, propose, wording
from fabric_checks.references.propose import Limits

_PROPOSE = """
\b
Examples:
  fabric-checks references propose --system yours            the diff, for review
  fabric-checks references propose --system yours --write    put it into config/references/yours.yaml
  fabric-checks references propose .fabric/results@2026-11-01.. --system yours --check OsuLatency
  fabric-checks references propose --system yours --min-runs 10 --write --allow-looser
"""

_CHECK = """
\b
Examples:
  fabric-checks references check                     all files
  fabric-checks references check --system yours      one of them
"""


@click.group("references")
def command() -> None:
    """Propose references from the history of runs, and check the reference files."""


def _folder() -> Path:
    return Path(os.environ.get("RFM_REFERENCE_PREFIX") or ROOT / "config" / "references")


def _shown(path: Path) -> Path:
    """Return a path as a patch has it: from the root of the collection, where it is within."""
    return path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path


@command.command("propose", epilog=_PROPOSE)
@click.argument("sources", nargs=-1)
@click.option("--system", required=True, help="The system whose file is meant.")
@click.option("--check", "checks", help="Checks, as a regular expression.  [default: all]")
@click.option("--metric", "metrics", help="Metrics, as a regular expression.  [default: all]")
@click.option(
    "--min-runs", type=click.IntRange(min=1), default=5, show_default=True, help="Propose nothing from fewer runs."
)
@click.option(
    "--min-runs-to-tighten",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Make no bound stricter from fewer runs.",
)
@click.option(
    "--least-bound",
    type=click.FloatRange(0, 100),
    default=2,
    show_default=True,
    help="Least distance of a bound from the reference, in percent.",
)
@click.option("--write", is_flag=True, help="Change the file.")
@click.option("--allow-looser", is_flag=True, help="With --write: also write references that ask for less than before.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def propose_command(
    sources: tuple[str, ...],
    *,
    system: str,
    checks: str | None,
    metrics: str | None,
    min_runs: int,
    min_runs_to_tighten: int,
    least_bound: float,
    write: bool,
    allow_looser: bool,
    as_json: bool,
) -> None:
    """Propose references from the results in SOURCES, as a diff against config/references/SYSTEM.yaml.

    A SOURCE is [LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]; without one, the results of this clone. A reference is the
    median of the runs. The bound on the worse side is as far from it as the worst run, three robust standard
    deviations, or 2 %, whichever is furthest. Each names its source. Values of a case that failed before they
    were complete are not used; values of runs that missed a reference are, and the report counts them.

    The report goes to standard error. Exit status 1 if nothing could be proposed, if --write held something back, or if
    records could not be read.
    """
    limits = Limits(min_runs, min_runs_to_tighten, least_bound / 100)
    outcome = _propose(
        sources, system, {"check": checks, "metric": metrics}, limits, write=write, allow_looser=allow_looser
    )
    console.error(*outcome["report"])
    if as_json:
        console.print_json(json.dumps({key: value for key, value in outcome.items() if key != "failed"}, indent=1))
    else:
        console.print_document(outcome["difference"])
    if outcome["failed"]:
        raise SystemExit(1)


def _propose(
    sources: tuple[str, ...],
    system: str,
    wanted: dict[str, str | None],
    limits: Limits,
    *,
    write: bool,
    allow_looser: bool,
) -> dict[str, Any]:
    path = _folder() / f"{system}.yaml"
    loaded = choosing.load(sources, propose.COLUMNS, {"system": system})
    frame = choosing.matching(loaded.frame, wanted)
    proposals = propose.propose(frame, edit.load_or_new(path), limits)
    outcome = edit.apply(path, proposals, write=write, allow_looser=allow_looser, name=str(_shown(path)))
    made = [each for each in proposals if each.action not in ("refused", "kept")]
    return {
        "file": str(_shown(path)),
        "written": outcome.written,
        "difference": outcome.difference,
        "proposals": [asdict(each) for each in proposals],
        "report": [
            *(f"warning: {fault}" for fault in loaded.faults),
            *wording.report(proposals, held_back=outcome.held_back),
            *([f"written: {_shown(path)}"] if outcome.written else []),
        ],
        "failed": bool(loaded.faults) or not made or outcome.held_back,
    }


@command.command("check", epilog=_CHECK)
@click.option("--system", "systems", multiple=True, help="A system; may be repeated.  [default: all that have a file]")
@click.option("--json", "as_json", is_flag=True, help="Print the faults as JSON.")
def check_command(systems: tuple[str, ...], as_json: bool) -> None:
    """Report the faults of the reference files; exit status 1 if there are any.

    It finds orphans (checks, partitions, environments, layouts, metrics that do not exist), metrics with neither
    reference nor reason, wrong units, missing bounds, reasons and rules that cover nothing, and bounds beyond the line
    rate. `references propose` shows bounds that the history of runs contradicts.
    """
    found = reference_files.check(_folder(), systems, progress=not as_json)
    if as_json:
        console.print_json(json.dumps({"files": found.files, "faults": found.faults}, indent=1))
    else:
        counts = {"file": found.files, "fault": len(found.faults)}
        console.print(*found.faults, ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items()))
    if found.faults:
        raise SystemExit(1)
