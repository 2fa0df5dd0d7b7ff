# SPDX-License-Identifier: BSD-3-Clause
"""Require the Python packages that some checks need beyond ReFrame's own, at the time of use.

`ci/run` installs them all. With another ReFrame the missing ones may be installed into a folder of this home,
without changes to the installation of that ReFrame or to variables.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import home


class MissingPackageError(FabricError):
    """Required Python packages are not installed."""


def folder() -> Path:
    """Return the folder for packages of this Python: in the home, or else, if that is read-only, in
    ~/.cache."""
    return _folders()[-1]


def _folders() -> list[Path]:
    """Return the folders of packages that this user may have, the last of which is for new ones."""
    root = next(folder for folder in (home(), *home().parents) if folder.exists())
    cache = os.path.expanduser("~/.cache/fabric-checks")  # noqa: PTH111  (no home is no error)
    own = [] if os.access(root, os.W_OK) else [Path(cache)]
    return [
        folder / "python" / str(sys.implementation.cache_tag)
        for folder in (home(), *own)
    ]


def require(packages: Iterable[str], why: str) -> None:
    """Require that packages can be imported, also from :func:`folder`.

    :param why: the purpose, as in ``Rotate needs them to tell a slow node from a slow path``.
    :raises MissingPackageError: with the missing packages, and the command that installs them.
    """
    # At the end: packages of ReFrame's installation precede dependencies that were installed here.
    for extra in _folders():
        if extra.is_dir() and str(extra) not in sys.path:
            sys.path.append(str(extra))
            invalidate_caches()
    missing = " ".join(package for package in packages if find_spec(package) is None)
    if missing:
        raise MissingPackageError(
            f"missing Python packages: {missing}: {why}. To install them for this collection alone: "
            f"{shlex.quote(sys.executable)} -m pip install --target {shlex.quote(str(folder()))} {missing}"
        )
