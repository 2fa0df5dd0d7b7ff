# SPDX-License-Identifier: BSD-3-Clause
"""Fill the templates of the page and of its drawings; all text in them is escaped and printable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fabric_checks.core.text import clean

#: Templates, style and script.
TEMPLATES = Path(__file__).with_name("templates")


def _printable(value: Any) -> Any:
    """Replace control characters in all that a template prints; what is markup already has none."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return clean(value) if is_text else value


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_printable,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["whole"] = "{:.0f}".format


def filled(template: str, **values: object) -> Markup:
    """Return a template with its values; only those that are :class:`markupsafe.Markup` are not escaped."""
    return Markup(_ENVIRONMENT.get_template(template).render(**values))


def drawn(macro: str, *values: object) -> Markup:
    """Return a drawing by the macro of that name of ``drawings.svg.jinja``."""
    module = _ENVIRONMENT.get_template("drawings.svg.jinja").module
    return Markup(getattr(module, macro)(*values))
