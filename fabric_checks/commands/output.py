# SPDX-License-Identifier: BSD-3-Clause
"""What the commands share about their output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click
from rich.console import Console, RenderableType
from rich.text import Text

from fabric_checks.text import printable


def show_all(parts: Iterable[RenderableType]) -> None:
    """Print tables and sentences to standard output."""
    # A terminal has a width, and COLUMNS may give one; a file or a pipe gets one that fits the table.
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(width=None if has_width else 160, highlight=False)
    for part in parts:
        # Sentences are left to the terminal to wrap, so that they can be searched and copied.
        console.print(part, soft_wrap=isinstance(part, Text))


def warn(faults: Iterable[str]) -> None:
    """Print what was wrong with results, a line each, to standard error."""
    for fault in faults:
        click.echo(f"warning: {printable(fault)}", err=True)


def csv_cell(value: object) -> object:
    """Return a value for a CSV cell; text that a spreadsheet would take for a formula is made text."""
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
