# SPDX-License-Identifier: BSD-3-Clause
"""Paths and names that are safe in a job script; the folders of this clone, its home and its results.

Job scripts and MPI's compiler wrappers do not quote their paths, ReFrame expands ``$VARIABLE``,
``$(command)`` and backquotes in those of its configuration, and a colon divides search paths. So paths with
such characters are refused. Needs the standard library only, because ``ci/setup.py`` imports it before
anything is installed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted

#: The root of the collection: the folder that holds ``checks`` and ``config``.
ROOT = Path(__file__).resolve().parents[3]
#: The folder with the packages of the library: PYTHONPATH of the processes that are started with this
#: clone's.
LIBRARY = ROOT / "src"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SIGNS = "/._+@-"


def name_is_sound(name: str) -> bool:
    """Return whether a name is safe for a file and in a command line: letters, digits, ``.``, ``_`` and
    ``-``."""
    return _NAME.fullmatch(name) is not None


def sound_name(what: str, name: str) -> str:
    """Return a name that is safe for a file and in a command line.

    :param what: its origin, for the message.
    :raises FabricError: if it is not.
    """
    if not name_is_sound(name):
        raise FabricError(
            f"{what} is {quoted(name)}, which is not a name: use up to 100 letters, digits, `.`, `_` and `-`,"
            " beginning with a letter or a digit"
        )
    return name


def sound_path(what: str, path: str | Path) -> Path:
    """Return the absolute form of a path that is safe in a job script.

    :param what: the thing with this path, for the message.
    :raises FabricError: if a character in it has a meaning of its own there.
    """
    text = os.path.abspath(path)  # noqa: PTH100  (links are kept)
    bad = next((sign for sign in text if not (sign.isalnum() or sign in _SIGNS)), None)
    if bad is not None:
        raise FabricError(
            f"{what} is {quoted(text, 200)}, but paths in job scripts cannot contain {quoted(bad)}: move it"
            f" to a path of letters, digits and {' '.join(_SIGNS)}"
        )
    return Path(text)


def home() -> Path:
    """Return the folder for everything that is installed or written: FABRIC_HOME, or ``.fabric`` in the
    clone.

    :raises FabricError: if its path is not safe in a job script.
    """
    given = os.environ.get("FABRIC_HOME")
    return (
        sound_path("FABRIC_HOME", given)
        if given
        else sound_path("the clone", ROOT) / ".fabric"
    )


def results() -> Path:
    """Return the folder of all results (perflogs, reports, outputs): FABRIC_RESULTS, or ``results`` in the
    home."""
    given = os.environ.get("FABRIC_RESULTS")
    return sound_path("FABRIC_RESULTS", given) if given else home() / "results"
