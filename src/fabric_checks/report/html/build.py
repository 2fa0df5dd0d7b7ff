# SPDX-License-Identifier: BSD-3-Clause
"""Make the page of sets of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.comparison.nodes import Node, nodes_of
from fabric_checks.core.plugins import report_sections
from fabric_checks.records import reading
from fabric_checks.records.sources import Source
from fabric_checks.report.blocks import Section
from fabric_checks.report.collecting import COLUMNS, collect
from fabric_checks.report.html import page
from fabric_checks.report.kept_output import results_folders
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import families, nodes, not_measured, over_time, summary, verdicts
from fabric_checks.report.sections.over_time import Changed, change_points
from fabric_checks.report.values import Results


def report(
    sources: Sequence[Source],
    title: str = "",
    *,
    with_time: bool = False,
    with_published: bool = False,
    opened: Sequence[str] = (),
    outputs: Sequence[Path] = (),
    left_out: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[str, Results]:
    """Return the page about sets of results, and its model.

    :param title: its title, empty for one made of the machines' names.
    :param with_time: whether to show values over time even for several machines.
    :param with_published: whether to show the published platforms next to the machines.
    :param opened: the findings of nights that are open, a line each.
    :param outputs: more folders of results that have outputs of the records.
    :param left_out: what was left out when the sources were made, a line each.
    :param progress: is called with what is being done.
    :raises RecordError: if a source does not exist or has no record.
    """
    progress("reading the records")
    loaded = reading.load(sources, COLUMNS)
    results = collect(loaded.frame, tuple(dict.fromkeys((*left_out, *loaded.faults))))
    changes = None
    over = with_time or len(results.machines) == 1
    if over:
        progress("looking for changes")
        changes = change_points(loaded.frame)
    progress("drawing")
    provenance = Provenance()
    shown = sections(
        results,
        provenance,
        [*outputs, *(source.path for source in sources)],
        over=over,
        changes=changes,
        published=with_published,
        opened=opened,
        touched=nodes_of(loaded.frame),
    )
    progress("writing")
    return page.render(title or _title(results), shown, provenance, datetime.now(timezone.utc)), results


def sections(
    results: Results,
    provenance: Provenance,
    paths: Sequence[Path] = (),
    *,
    over: bool = False,
    changes: Sequence[Changed] | None = None,
    published: bool = False,
    opened: Sequence[str] = (),
    touched: Sequence[Node] = (),
) -> list[Section]:
    """Return all sections of the page.

    :param paths: of the results: kept outputs have the values of all pairs.
    :param over: whether to show values over time.
    :param changes: see :func:`fabric_checks.report.sections.over_time.section`.
    :param published: whether to show the published platforms next to the machines.
    :param touched: the nodes of all runs.
    :param opened: the findings of nights that are open, a line each.
    """
    found = [
        summary.section(results, provenance, changes or ()),
        *families.sections(results, provenance, results_folders(paths)),
        families.compared(results),
        over_time.section(results, provenance, changes) if over else None,
        verdicts.references(results),
        verdicts.findings(results, opened),
        verdicts.failures(results),
        nodes.section(touched) if len(touched) > 1 else None,
        *(module.section(results, provenance, published) for module in report_sections()),
        verdicts.faults(results),
        not_measured.section(results),
    ]
    return [section for section in found if section]


def _title(results: Results) -> str:
    names = list(dict.fromkeys(name.partition(", ")[0] for name in results.machines))
    if len(names) > 3:
        return f"Interconnects of {len(names)} machines"
    return f"Interconnect{'s' if len(names) > 1 else ''} of {' and '.join(names)}"
