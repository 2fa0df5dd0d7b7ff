# SPDX-License-Identifier: BSD-3-Clause
"""Render sections and provenance as one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fabric_checks import __version__
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import clean, printable
from fabric_checks.report.blocks import Section
from fabric_checks.report.provenance import Provenance

#: Templates, style and script.
TEMPLATES = ROOT / "perflogs-templates" / "report"


def render(title: str, sections: Sequence[Section], provenance: Provenance, when: datetime) -> str:
    """Return the page.

    The template escapes all text; only drawings of :mod:`fabric_checks.report.drawing` and the page's own style and
    script are not escaped. By its policy the page loads nothing and runs no script but its own.

    :param provenance: that of the sections' values. :param when: the time of writing, in UTC.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawing"] = Markup
    environment.globals["number_of"] = provenance.number_of
    script, *styles = ((TEMPLATES / name).read_text() for name in ("page.js", "drawing.css", "page.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Cells are numbered as they are written, so the provenance comes out of what was written.
    body = Markup(environment.get_template("sections.html.jinja").render(sections=sections))
    return environment.get_template("page.html.jinja").render(
        title=clean(title),
        sections=sections,
        body=body,
        cases=provenance.cases,
        data=provenance.data(),
        script=Markup(script),
        style=Markup("".join(styles)),
        digest=digest,
        when=f"{when:%Y-%m-%d %H:%M} UTC",
        version=__version__,
    )


def _printable(value: Any) -> Any:
    """Replace control characters in all that a template prints; drawings have none."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
