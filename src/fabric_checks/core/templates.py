# SPDX-License-Identifier: BSD-3-Clause
"""Fill templates of plain text, such as what a command prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from fabric_checks.core.text import count_text, names_text, one_line, value_text


def filled(
    template: Path, filters: Mapping[str, Callable[..., Any]], **values: object
) -> str:
    """Return the text of a template.

    :param filters: more of them; all templates have ``count``, ``line``, ``names`` and ``number``.
    """
    environment = Environment(
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": count_text,
        "line": one_line,
        "names": names_text,
        "number": value_text,
        **filters,
    }
    return environment.from_string(template.read_text()).render(values)
