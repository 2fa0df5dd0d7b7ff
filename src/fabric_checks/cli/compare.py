# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks compare``: sets of results side by side."""

from __future__ import annotations

from collections.abc import Collection

import click
import polars as pl

from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    UNUSABLE,
    csv_option,
    end_by,
    json_option,
    number_option,
    option,
    refuse_together,
    verb,
)
from fabric_checks.comparison.compare import Comparison, compare, select
from fabric_checks.comparison.verdicts import BETTER, MISSING, NO_DIFFERENCE, WORSE
from fabric_checks.core import console
from fabric_checks.records import reader
from fabric_checks.records.series import COMPARED
from fabric_checks.records.sources import distinct
from fabric_checks.report import comparison as forms

_EPILOG = """
\b
Examples:
  fabric-checks compare old=/data/2025 new=.fabric/results
  fabric-checks compare before=.fabric/results@..2026-11-10 after=.fabric/results@2026-11-10..
  fabric-checks compare .fabric/results,system=cbc .fabric/results,system=feynman
  fabric-checks compare base.jsonl new.jsonl --fail-on worse --fail-on missing --margin 5
  fabric-checks compare base.jsonl new.jsonl --json
"""


@verb("compare", _EPILOG, {FAILED: UNUSABLE, FOUND: "--fail-on found something"})
@click.argument("sources", nargs=-1, required=True, metavar="BASELINE OTHER...")
@option(
    "--fail-on",
    "Exit with status 3 if a metric is worse, or missing; may be repeated.",
    "gates",
    multiple=True,
    type=click.Choice([WORSE, MISSING]),
)
@number_option(
    "--margin",
    "By how many per cent (of shares: points) a metric has to be worse for certain.",
    least=0,
    default=0.0,
)
@json_option
@csv_option
def command(
    sources: tuple[str, ...],
    *,
    gates: tuple[str, ...],
    margin: float,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Compare sets of results with the first one.

    Medians and their ratio have bootstrap intervals. A metric is worse or better if its whole interval is; if
    not, the smallest difference that could have been detected is shown with it. Metrics that cannot be
    compared have the reason; tests that one side never ran are counted, and `--csv` lists them.
    """
    refuse_together(json=as_json, csv=as_csv)
    if len(sources) < 2:
        raise click.UsageError("two sets of results are needed, the baseline first")
    sets = distinct(sources)
    labels = [each.label for each in sets]
    faults: list[str] = []
    loaded = reader.load_aggregated(sets, COMPARED, faults)
    found = compare(loaded, labels)
    failed = objections(found, gates, margin)
    rows = select(found.frame)
    if as_json:
        console.print_json(forms.as_json(found, rows, failed, faults))
    elif as_csv:
        console.print_csv(rows.to_dicts())
    else:
        console.print_rich(forms.render(forms.page(found, rows)))
    end_by(faults, failed)


def objections(
    comparison: Comparison, gates: Collection[str], margin: float
) -> list[str]:
    """Return why a comparison fails, a line each; empty if it passes.

    The gate :data:`WORSE` fails a comparison in which nothing could be judged.

    :param margin: by how many per cent the whole interval has to be worse; of values in per cent in points.
    """
    is_worse = (pl.col("verdict") == WORSE) & (pl.col("at_least") >= margin)
    counts = {
        WORSE: comparison.frame.filter(is_worse).height,
        MISSING: comparison.count(MISSING),
    }
    beyond = f" by at least {margin:g} % for certain" if margin else ""
    lines = [
        f"{counts[gate]} {gate}{beyond if gate == WORSE else ''}"
        for gate in gates
        if counts[gate]
    ]
    if WORSE in gates and not any(
        map(comparison.count, (WORSE, BETTER, NO_DIFFERENCE))
    ):
        lines.append("no metric could be compared")
    return lines
