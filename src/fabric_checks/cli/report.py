# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks report``: one HTML file about any set of machines."""

from __future__ import annotations

from pathlib import Path

from fabric_checks.cli.verb import (
    FAILED,
    UNUSABLE,
    end_by,
    flag,
    option,
    output_option,
    sources_argument,
    verb,
)
from fabric_checks.core import console, files
from fabric_checks.core.text import count_text
from fabric_checks.nightly import journal, summary
from fabric_checks.records.sources import Source, chosen
from fabric_checks.report.page import report

_EPILOG = """
\b
Examples:
  fabric-checks report                                   all machines that were run here, into report.html
  fabric-checks report .fabric/results,system=twins -o twins.html
  fabric-checks report ours=/data/ours theirs=/media/disk/perflogs --title 'Two bids'
  fabric-checks report .fabric/results@2026-11-01..,system=minicluster
"""


@verb("report", _EPILOG, {FAILED: UNUSABLE})
@sources_argument
@output_option("report.html")
@option(
    "--title",
    "Title of the page.  [default: made from the machines' names]",
    default="",
)
@flag("--published", "Compare with the published platforms of SAND2005-5199.")
def command(
    sources: tuple[str, ...], *, output: Path, title: str, published: bool
) -> None:
    """Write one self-contained HTML file about the machines in the results.

    It has every curve and value, the machines and MPIs side by side, the cross-section, references met and
    missed, the tables of SAND2005-5199, what was not measured, and where every value comes from. It works
    offline, can be printed, and loads nothing from anywhere.
    """
    named = chosen(sources)
    unread: list[str] = []
    opened = [line for source in named for line in _open(source, unread)]
    text, results = report(named, title, opened=opened, published=published)
    files.write_text(output, text)
    # One with several MPIs is there with each.
    machines = {name.rpartition(", ")[0] or name for name in results.machines}
    counts = (
        count_text(len(machines), "machine"),
        count_text(len(results.values), "value"),
    )
    console.print(f"{output}: {', '.join(counts)}")
    end_by([*results.faults, *unread])


def _open(source: Source, faults: list[str]) -> list[str]:
    """Return a line for each open finding of nights, if the source reaches until now."""
    if source.until is not None:
        return []
    found = journal.all_open(source.path, faults, source.where.get("system"))
    return [
        f"{system}: {line}"
        for system, entries in found.items()
        for line in summary.lines_of(entries)
    ]
