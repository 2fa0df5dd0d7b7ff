# SPDX-License-Identifier: BSD-3-Clause
"""Decide whether a run asks for what an environment does not offer, of which ReFrame has no case to select."""

from __future__ import annotations

import argparse
import re
import sys
from functools import cache
from typing import Any

from fabric_checks.core import families
from fabric_checks.core.levels import ACCEPTANCE, LEVELS, NIGHTLY, PROCUREMENT, SMOKE

#: By feature, the names of the check classes of which some case needs it, and their tags.
_CHECKS: dict[str, dict[str, set[str]]] = {}


def note_needs(cls: Any) -> None:
    """Note the features that the cases of a check class need; the class has the attributes of a check."""
    levels = {NIGHTLY: cls.levels.nightly, SMOKE: cls.levels.nightly, PROCUREMENT: cls.levels.procurement}
    tags = {*cls.tags, families.tag(cls.family), ACCEPTANCE, *(name for name, cases in levels.items() if cases)}
    more = [need for by_value in cls.needs_of.values() for needs in by_value.values() for need in needs]
    for feature in (*cls.needed(), *more):
        _CHECKS.setdefault(feature, {})[cls.__name__] = tags


@cache
def _selection(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the names and tags that a command line selects cases by, as regular expressions."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for names in (("-n", "--name"), ("-t", "--tag"), ("--mode",)):
        parser.add_argument(*names, action="append", default=[])
    try:
        given, _ = parser.parse_known_args(words)
    except argparse.ArgumentError:
        return [], []  # ReFrame itself reports that the option lacks a value
    levels = (LEVELS[name].options() for name in given.mode if name in LEVELS)
    tags = [option.removeprefix("--tag=") for options in levels for option in options if option.startswith("--tag=")]
    return given.name, [*given.tag, *tags]


def is_asked_for(feature: str) -> bool:
    """Return whether the command line of this process selects checks that need a feature; without options it does."""
    names, tags = _selection(tuple(sys.argv[1:]))
    # Of each alternative of an expression about a whole name, with parameters, what is about the class.
    patterns = [re.split(r"[ %@/]|(?<=\w)\.\*", part)[0] for name in names for part in name.split("|")]
    try:
        return not (names or tags) or any(
            (not names or any(re.match(pattern, check) for pattern in patterns))
            and all(any(re.match(tag, own) for own in of) for tag in tags)
            for check, of in _CHECKS.get(feature, {}).items()
        )
    except re.error:
        return True  # ReFrame itself reports that
