# SPDX-License-Identifier: BSD-3-Clause
"""The commands ``fabric-checks references ...``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from os import sched_getaffinity
from pathlib import Path

import click

from fabric_checks.cli import choosing
from fabric_checks.cli.conditions import system_option
from fabric_checks.core import console
from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import count_text
from fabric_checks.nightly.service import configuration
from fabric_checks.references import audit, cases, edit, propose, reference_file, wording
from fabric_checks.references.propose import Limits
from fabric_checks.references.reference_file import ReferenceFile

_PROPOSE = """
\b
Examples:
  fabric-checks references propose --system yours            the diff, for review
  fabric-checks references propose --system yours --write    put it into config/references/yours.yaml
  fabric-checks references propose .fabric/results@2026-11-01.. --system yours --check OsuLatency
  fabric-checks references propose --system yours --min-passes 10 --write --allow-looser
"""

_CHECK = """
\b
Examples:
  fabric-checks references check                     the file of the system at hand
  fabric-checks references check --system yours      that of another
  fabric-checks references check --all               all files, which takes minutes
"""


@click.group("references")
def command() -> None:
    """Propose references from the history of runs, and check the reference files."""


def _folder() -> Path:
    return Path(os.environ.get("RFM_REFERENCE_PREFIX") or ROOT / "config" / "references")


def _shown(path: Path) -> Path:
    """Return a path as in a patch: relative to the root of the collection, if it is within."""
    return path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path


@command.command("propose", epilog=_PROPOSE)
@click.argument("sources", nargs=-1)
@click.option("--system", required=True, help="The system whose file is changed.")
@click.option("--check", "checks", help="Checks, as a regular expression.  [default: all]")
@click.option("--metric", "metrics", help="Metrics, as a regular expression.  [default: all]")
@click.option(
    "--min-passes",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Propose nothing from fewer passes of runs; the level acceptance makes five.",
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
    min_passes: int,
    write: bool,
    allow_looser: bool,
    as_json: bool,
) -> None:
    """Propose references from the results in SOURCES, as a diff against config/references/SYSTEM.yaml.

    A SOURCE is [LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]; without one, the results of this clone. A reference is the
    median of all passes of all runs. The bound on the worse side is as far from it as the worst pass, three robust
    standard deviations, or 2 %, whichever is furthest. Each names its source. Values of a case that failed before they
    were complete are not used; values that missed a reference are, and the report counts them.

    The report goes to standard error. Exit status 1 if nothing could be proposed, if --write held something back, or if
    records could not be read.
    """
    path = _folder() / f"{system}.yaml"
    name = str(_shown(path))
    loaded = choosing.load(sources, propose.COLUMNS, {"system": system})
    frame = choosing.matching(loaded.frame, {"check": checks, "metric": metrics})
    found = propose.propose(frame, edit.load_or_new(path), Limits(min_passes))
    proposals = propose.within_line_rate(
        found, lambda: {case.partition: case.extras for case in cases.of_system(system, ()).cases}
    )
    outcome = edit.apply(path, proposals, write=write, allow_looser=allow_looser, name=name)
    report = [
        *(f"warning: {fault}" for fault in loaded.faults),
        *wording.report(proposals, held_back=outcome.held_back),
        *([f"written: {name}"] if outcome.written else []),
    ]
    console.error(*report)
    if as_json:
        whole = {
            "file": name,
            "written": outcome.written,
            "difference": outcome.difference,
            "proposals": [asdict(each) for each in proposals],
            "report": report,
        }
        console.print_json(json.dumps(whole, indent=1))
    else:
        console.print_document(outcome.difference)
    if loaded.faults or outcome.held_back or all(each.action in ("refused", "kept") for each in proposals):
        raise SystemExit(1)


@command.command("check", epilog=_CHECK)
@system_option
@click.option("--all", "every", is_flag=True, help="All systems that have a file.")
@click.option("--json", "as_json", is_flag=True, help="Print the faults as JSON.")
def check_command(system: str | None, *, every: bool, as_json: bool) -> None:
    """Report the faults of the reference files; exit status 1 if there are any.

    It finds orphans (checks, partitions, environments, layouts, metrics that do not exist), metrics with neither
    reference nor reason, wrong units, missing bounds, reasons and rules that cover nothing, and bounds beyond the line
    rate. `references propose` shows bounds that the history of runs contradicts.
    """
    folder = _folder()
    if not every:
        system = (system or str(configuration(None)["name"])).partition(":")[0]
    paths = sorted(folder.glob("*.yaml")) if every else [folder / f"{system}.yaml"]
    if not paths:
        raise ReferenceError(
            f"{folder}: there is no reference file *.yaml here; set RFM_REFERENCE_PREFIX to use another folder"
        )
    faults: list[str] = []
    files: list[ReferenceFile] = []
    for path in paths:
        try:
            files.append(reference_file.load(path))
        except ReferenceError as error:
            faults.append(str(error))
    if every:
        console.error(f"the checks of {count_text(len(files), 'system')} are loaded, which takes minutes")
    faults += _faults_of_cases(files)
    if as_json:
        console.print_json(json.dumps({"files": len(paths), "faults": faults}, indent=1))
    else:
        files_text = str(paths[0]) if len(paths) == 1 else count_text(len(paths), "file")
        console.print(*faults, f"{files_text}: {count_text(len(faults), 'fault')}")
    if faults:
        raise SystemExit(1)


def _faults_of_cases(files: Sequence[ReferenceFile]) -> list[str]:
    """Return the faults of files by the checks of their systems, which are loaded at the same time."""

    def faults_of(file: ReferenceFile) -> list[str]:
        try:
            catalogue = cases.of_system(file.path.stem, audit.index_items(file))
            own = [case for case in catalogue.cases if case.file == file.path.stem]
            return audit.of_file(file, catalogue.checks, own)
        except ReferenceError as error:
            return [f"{file.path}: {error}"]

    with (
        console.rich_console(console.err()).status("") as status,
        ThreadPoolExecutor(max(1, len(sched_getaffinity(0)))) as pool,
    ):
        futures = [pool.submit(faults_of, file) for file in files]
        try:
            # The main thread learns of an interrupt, which another thread may have received, when it wakes up.
            while waiting := wait(futures, timeout=0.5).not_done:
                status.update(f"loading the checks of {count_text(len(waiting), 'system')} ..")
        finally:
            for future in futures:
                future.cancel()
    return [fault for future in futures for fault in future.result()]
