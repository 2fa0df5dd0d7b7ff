# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks compare``: sets of results side by side."""

from __future__ import annotations

from collections.abc import Mapping

import click

from fabric_checks.cli.conditions import GATED, fail_on_option, objections, share
from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    UNUSABLE,
    csv_option,
    end_by,
    flag,
    json_option,
    option,
    read_by,
    refuse_together,
    verb,
)
from fabric_checks.comparison.compare import compare, select
from fabric_checks.comparison.verdicts import MISSING, WORSE
from fabric_checks.core import console
from fabric_checks.records import reader
from fabric_checks.records import sources as sets_of
from fabric_checks.records.series import COMPARED
from fabric_checks.report import comparison as forms

_EPILOG = """
\b
Examples:
  fabric-checks compare old=/archive/2025 new=.fabric/results
  fabric-checks compare before=.fabric/results@..2026-11-10 after=.fabric/results@2026-11-10..
  fabric-checks compare .fabric/results,system=cbc .fabric/results,system=feynman --all
  fabric-checks compare base.jsonl new.jsonl --fail-on worse:5% --fail-on missing
  fabric-checks compare base.jsonl new.jsonl --repeatable 5% --json
"""


@verb("compare", _EPILOG, {FAILED: UNUSABLE, FOUND: GATED})
@click.argument("sources", nargs=-1, required=True, metavar="BASELINE OTHER...")
@option(
    "--repeatable",
    "How closely values are known to repeat, such as 5%: judge by it where there are few runs.",
    callback=read_by(share),
    metavar="SHARE",
)
@flag("--across-versions", "Also compare values of different programs or releases.")
@fail_on_option(
    "Exit with status 3 if there is any of this: worse, worse:5%, missing; may be repeated.",
    [WORSE, MISSING],
)
@json_option
@csv_option
@flag(
    "--all",
    "Print a row for each metric: curves not folded, and missing ones.",
    "every_point",
)
def command(
    sources: tuple[str, ...],
    *,
    repeatable: float | None,
    across_versions: bool,
    gates: Mapping[str, float],
    as_json: bool,
    as_csv: bool,
    every_point: bool,
) -> None:
    """Compare sets of results with the first one.

    Medians and their ratio have bootstrap intervals. A metric is worse or better if its whole interval is; if
    not, the smallest difference that could have been detected is shown with it. Metrics that cannot be
    compared have the reason; tests that one side never ran are counted, and `--all` lists them.
    """
    refuse_together(json=as_json, csv=as_csv)
    if len(sources) < 2:
        raise click.UsageError("two sets of results are needed, the baseline first")
    sets = [sets_of.parse(source) for source in sources]
    labels = [each.label for each in sets]
    doubled = next((label for label in labels if labels.count(label) > 1), None)
    if doubled is not None:
        raise click.UsageError(
            f"two sets are called {doubled!r}; give them labels, as in LABEL=PATH"
        )
    faults: list[str] = []
    loaded = reader.load_aggregated(sets, COMPARED, faults)
    found = compare(
        loaded, labels, repeatable=repeatable, across_versions=across_versions
    )
    failed = objections(found, gates)
    rows = select(found.frame)
    if as_json:
        console.print_json(forms.as_json(found, rows, failed, faults))
    elif as_csv:
        console.print_csv(rows.to_dicts())
    else:
        console.print_rich(
            forms.render(forms.page(found, rows, every_point=every_point))
        )
    end_by(faults, failed)
