# SPDX-License-Identifier: BSD-3-Clause
"""Decide whether a run asks for what an environment does not offer, of which ReFrame has no case to
select."""

from __future__ import annotations

import argparse
import sys
from functools import cache


@cache
def _names(words: tuple[str, ...]) -> list[str]:
    """Return the names that a command line selects cases by, as regular expressions."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("-n", "--name", action="append", default=[])
    try:
        found: list[str] = parser.parse_known_args(words)[0].name
    except argparse.ArgumentError:
        return []  # ReFrame itself reports that the option lacks a value
    return found


def is_asked_for(feature: str) -> bool:
    """Return whether the command line of this process may select checks that need a feature, by the names
    that it has.

    The names of a suite's checks begin as those of its features: ``OsuGather`` needs ``osu_c``.
    """
    names = _names(tuple(sys.argv[1:]))
    suite = feature.partition("_")[0]
    return not names or any(suite in name.lower() for name in names)
