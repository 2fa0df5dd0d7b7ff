# SPDX-License-Identifier: BSD-3-Clause
"""Which paths and names can go into a job script, and where this clone is.

Job scripts and MPI's compiler wrappers do not quote their paths, ReFrame expands ``$VARIABLE``, ``$(command)`` and
backquotes in those of its configuration, and a colon divides search paths. So what has such a character is refused.
Needs the standard library only: ``ci/setup.py`` asks before anything is installed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted

#: The root of the collection: the folder that holds ``checks`` and ``config``.
ROOT = Path(__file__).resolve().parents[3]
#: The folder that holds the packages of the library: PYTHONPATH of what is started with this clone's.
LIBRARY = ROOT / "src"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SIGNS = "/._+@-"


def name_is_sound(name: str) -> bool:
    """Tell whether a name can be a file's and a word of a command line: letters, digits, ``.``, ``_`` and ``-``."""
    return _NAME.fullmatch(name) is not None


def sound_name(what: str, name: str) -> str:
    """Return a name that can be a file's and a word of a command line.

    :param what: where it is from, for the message.
    :raises FabricError: if it cannot.
    """
    if not name_is_sound(name):
        raise FabricError(
            f"{what} is {quoted(name)}, which is not a name: use up to 100 letters, digits, `.`, `_` and `-`, "
            "beginning with a letter or a digit"
        )
    return name


def sound_path(what: str, path: str | Path) -> Path:
    """Return the absolute form of a path that can be in a job script.

    :param what: what has this path, for the message.
    :raises FabricError: if a character in it would be taken for something else there.
    """
    text = os.path.abspath(path)  # noqa: PTH100  (links are kept)
    bad = next((sign for sign in text if not (sign.isalnum() or sign in _SIGNS)), None)
    if bad is not None:
        raise FabricError(
            f"{what} is {quoted(text, 200)}, but paths in job scripts cannot contain {_called(bad)}: move it to a path "
            f"of letters, digits and {' '.join(_SIGNS)}"
        )
    return Path(text)


def home() -> Path:
    """Return the folder for everything that is installed or written: FABRIC_HOME, or ``.fabric`` in the clone.

    :raises FabricError: if its path cannot be in a job script, like the next one's.
    """
    given = os.environ.get("FABRIC_HOME")
    return sound_path("FABRIC_HOME", given) if given else sound_path("the clone", ROOT) / ".fabric"


def results() -> Path:
    """Return the folder of all results (perflogs, reports, outputs): FABRIC_RESULTS, or ``results`` in the home."""
    given = os.environ.get("FABRIC_RESULTS")
    return sound_path("FABRIC_RESULTS", given) if given else home() / "results"


def _called(sign: str) -> str:
    names = {" ": "a space", "\n": "a line end", "\t": "a tab"}
    return names.get(sign) or quoted(sign)
