# SPDX-License-Identifier: BSD-3-Clause
"""From sets of results to the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.comparison.nodes import Node, nodes_of
from fabric_checks.core.plugins import report_sections
from fabric_checks.records import reading
from fabric_checks.records.sources import Source
from fabric_checks.report.html import (
    families,
    judged,
    latency_map,
    nodes,
    not_measured,
    over_time,
    page,
    rotate,
    summary,
)
from fabric_checks.report.html.blocks import Section
from fabric_checks.report.html.change_points import Changed, change_points
from fabric_checks.report.html.collecting import COLUMNS, collect
from fabric_checks.report.html.matrices import roots
from fabric_checks.report.html.provenance import Provenance
from fabric_checks.report.html.values import Results


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
    """Return the page about sets of results, and what it is about.

    :param title: its title, empty for one made of the machines' names.
    :param with_time: whether to show values over time even for several machines.
    :param with_published: whether to show the published platforms beside the machines.
    :param opened: the findings of nights that are open, a line each.
    :param outputs: folders of results whose outputs belong to the records, beside the sources.
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

    :param paths: where the results are: outputs beside them have the pair matrices.
    :param over: whether to show values over time. :param changes: :func:`fabric_checks.report.html.over_time.section`.
    :param published: whether the published platforms stand beside the machines. :param touched: the nodes of all runs.
    :param opened: the findings of nights that are open, a line each.
    """
    found = [
        summary.section(results, provenance, changes or ()),
        *families.sections(results, provenance),
        rotate.section(results, roots(paths)),
        latency_map.section(results, roots(paths)),
        families.compared(results),
        over_time.section(results, provenance, changes) if over else None,
        judged.references(results),
        judged.findings(results, opened),
        judged.failures(results),
        nodes.section(touched) if len(touched) > 1 else None,
        *(module.section(results, provenance, published) for module in report_sections()),
        judged.faults(results),
        not_measured.section(results),
    ]
    return [section for section in found if section]


def _title(results: Results) -> str:
    names = list(dict.fromkeys(name.partition(", ")[0] for name in results.machines))
    if len(names) > 3:
        return f"Interconnects of {len(names)} machines"
    return f"Interconnect{'s' if len(names) > 1 else ''} of {' and '.join(names)}"
