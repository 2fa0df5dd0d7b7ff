# SPDX-License-Identifier: BSD-3-Clause
"""Parsers: text that a program printed goes in, rows come out, and incomplete text raises OutputError."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a parser when a check first uses it, as ``parsers.osu``: a listing of checks needs none of
    them."""
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
