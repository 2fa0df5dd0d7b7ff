# SPDX-License-Identifier: BSD-3-Clause
"""Make the page of sets of results: one HTML file that works offline and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from markupsafe import Markup

from fabric_checks import __version__
from fabric_checks.core.plugins import report_sections
from fabric_checks.core.text import names_text, plural_text
from fabric_checks.records import reader, runs
from fabric_checks.records.sources import IS_REPEAT, Source
from fabric_checks.report import svg_panels
from fabric_checks.report.blocks import Section
from fabric_checks.report.collection import COLUMNS, collect
from fabric_checks.report.markup import TEMPLATES, filled
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import (
    closing,
    families,
    over_time,
    pairs,
    summary,
)
from fabric_checks.report.sections.over_time import Changed, change_points
from fabric_checks.report.svg_panels import Panel
from fabric_checks.report.values import Results


def report(
    sources: Sequence[Source],
    title: str = "",
    *,
    published: bool,
    opened: Sequence[str] = (),
    outputs: Sequence[Path] = (),
    session: runs.Session | None = None,
) -> tuple[str, Results]:
    """Return the page about sets of results, and its model.

    :param title: its title, empty for one made of the machines' names.
    :param published: whether to show the published platforms next to the machines.
    :param opened: the findings of nights that are open, a line each.
    :param outputs: more folders of results that have outputs of the records.
    :param session: the run that the page begins with; without one, the last of each case.
    :raises RecordError: if a source does not exist or has no record.
    """
    loaded = reader.load([replace(each, repeats=True) for each in sources], COLUMNS)
    frame = loaded.frame.filter(~IS_REPEAT)
    results = collect(frame, loaded.faults, loaded.frame.filter(IS_REPEAT))
    if session:
        results.begin_with(session)
    shown = sections(
        results,
        [*outputs, *(source.path for source in sources)],
        changes=change_points(frame),
        published=published,
        opened=opened,
    )
    names = dict.fromkeys(name.partition(", ")[0] for name in results.machines)
    of_all = f"{plural_text(len(names), 'Interconnect')} of {names_text(list(names))}"
    return render(title or of_all, shown, datetime.now(timezone.utc)), results


def sections(
    results: Results,
    paths: Sequence[Path] = (),
    *,
    changes: tuple[Sequence[Changed], Sequence[str]] = ((), ()),
    published: bool = False,
    opened: Sequence[str] = (),
) -> list[Section]:
    """Return all sections of the page.

    :param paths: of the results: kept outputs have the values of all pairs.
    :param changes: of the values over time, see :func:`change_points`.
    :param published, opened: see :func:`report`.
    """
    last = dict.fromkeys(
        [results.session]
        if results.session
        else (names[-1] for names in results.runs.values())
    )
    ends = [
        runs.ended_early(folder, name)
        for name in last
        for folder in dict.fromkeys(paths)
    ]
    found = [
        summary.section(results, changes[0], list(filter(None, ends)), opened),
        *families.sections(results, pairs.results_folders(paths)),
        over_time.section(results, *changes),
        closing.references(results),
        *(module.section(results, published) for module in report_sections()),
        closing.not_measured(results),
    ]
    return [section for section in found if section]


def render(title: str, sections: Sequence[Section], when: datetime) -> str:
    """Return sections as the page.

    The template escapes all text; only drawings of :mod:`fabric_checks.report.svg_panels` and the page's own
    style and script are not escaped. By its policy the page loads nothing and runs no script but its own.

    :param when: the time of writing, in UTC.
    """
    provenance = Provenance()

    def drawing(panel: Panel | Markup, looks: Mapping[str, str]) -> Markup:
        if isinstance(panel, Panel):
            return svg_panels.panel(panel, looks, provenance.series_of)
        return panel

    script, *styles = (
        (TEMPLATES / name).read_text()
        for name in ("page.js", "drawing.css", "page.css")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Cells are numbered as they are written, so the provenance is complete only after that.
    body = filled(
        "sections.html.jinja",
        sections=sections,
        number_of=provenance.number_of,
        drawing=drawing,
    )
    return filled(
        "page.html.jinja",
        title=title,
        sections=sections,
        body=body,
        data=provenance.data(),
        script=Markup(script),
        style=Markup("".join(styles)),
        digest=digest,
        when=f"{when:%Y-%m-%d %H:%M} UTC",
        version=__version__,
    )
