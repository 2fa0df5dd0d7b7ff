# SPDX-License-Identifier: BSD-3-Clause
"""The commands ``fabric-checks references ...``."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path

import click

from fabric_checks.cli.verb import (
    FOUND,
    Verbs,
    ending,
    json_option,
    number_option,
    option,
    sources_argument,
)
from fabric_checks.core import console
from fabric_checks.core.paths import ROOT, sound_name
from fabric_checks.records import reader
from fabric_checks.records.sources import chosen
from fabric_checks.references import proposal_text, propose, proposed

_PROPOSE = """
\b
Examples:
  fabric-checks references propose --system yours     \
write config/references/yours.proposed.yaml, print the difference
  fabric-checks references propose .fabric/results@2026-11-01..,check=OsuLatency --system yours
  fabric-checks references propose --system yours --min-passes 10
"""


@click.group("references", cls=Verbs)
def command() -> None:
    """Propose references from the history of runs.

    A dry run (`ci/run --dry-run`) names the faults of a reference file.
    """


def _folder() -> Path:
    return Path(
        os.environ.get("RFM_REFERENCE_PREFIX") or ROOT / "config" / "references"
    )


@command.command("propose", epilog=_PROPOSE, statuses={FOUND: "nothing to propose"})
@sources_argument
@option("--system", "The system whose file is copied.", required=True)
@number_option(
    "--min-passes",
    "Propose nothing from fewer passes of runs.",
    least=1,
    is_whole=True,
    default=5,
)
@json_option
def propose_command(
    sources: tuple[str, ...],
    *,
    system: str,
    min_passes: int,
    as_json: bool,
) -> None:
    """Propose references from the results in SOURCES: a copy of the system's file with them,
    SYSTEM.proposed.yaml.

    It prints the difference. Look at it, and move the copy over config/references/SYSTEM.yaml.

    A reference is the median of all passes of all runs. The bound on the worse side is as far from it as the
    worst pass, three robust standard deviations, or 2 %, whichever is furthest. Each names its source. Values
    of a case that failed before they were complete are not used; values that missed a reference are, and the
    report counts them. The report goes to standard error.
    """
    path = _folder() / f"{sound_name('--system', system)}.yaml"
    of_system = [
        replace(each, where={**each.where, "system": system})
        for each in chosen(sources)
    ]
    loaded = reader.load(of_system, propose.COLUMNS)
    proposals = propose.propose(loaded.frame, proposed.load_or_new(path), min_passes)
    difference = proposed.write(path, proposals)
    target = str(proposed.path_of(path)) if difference else None
    report = [
        *(f"warning: {fault}" for fault in loaded.faults),
        *proposal_text.report(proposals),
    ]
    report += [f"written: {target}; to take it: mv {target} {path}"] if target else []
    console.error(*report)
    if as_json:
        whole = {"file": target, "difference": difference, "report": report}
        console.print_json(whole | {"proposals": [asdict(each) for each in proposals]})
    else:
        console.print_document(difference)
    has_nothing = all(each.action in ("refused", "kept") for each in proposals)
    raise ending(found=has_nothing, failed=loaded.faults)
