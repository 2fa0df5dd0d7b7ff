# SPDX-License-Identifier: BSD-3-Clause
"""Python packages that some checks need beyond ReFrame's own: asked for when such a check comes to need them.

`ci/run` brings them all. Who runs the checks by a ReFrame of their own may put what is missing into a folder of this
home, so that neither that ReFrame's installation need be written to nor a variable be set.
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
    """Python packages that are needed are not there."""


def folder() -> Path:
    """Return where packages for this Python may be put: in the home, or where that is another user's, in a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fabric-checks"
    base = home() if os.access(_there(home()), os.W_OK) else cache
    return base / "python" / str(sys.implementation.cache_tag)


def require(packages: Iterable[str], why: str) -> None:
    """See that packages can be imported, also from :func:`folder`.

    :param why: what needs them for what, as in ``Rotate needs them to tell a slow node from a slow path``.
    :raises MissingPackageError: with those that are not there, and the line that installs them.
    """
    place = folder()
    # Behind all else: what is there already goes before what came along as another's dependency.
    if place.is_dir() and str(place) not in sys.path:
        sys.path.append(str(place))
        invalidate_caches()
    missing = " ".join(package for package in packages if find_spec(package) is None)
    if missing:
        raise MissingPackageError(
            f"missing Python packages: {missing}: {why}. To install them for this collection alone: {_pip()} --target "
            f"{shlex.quote(str(place))} {missing}"
        )


def _pip() -> str:
    """Return what installs packages for the Python that runs; a virtual environment of uv has no pip of its own."""
    if find_spec("pip") is not None:
        return f"{shlex.quote(sys.executable)} -m pip install"
    return f"uv pip install --python {shlex.quote(sys.executable)}"


def _there(path: Path) -> Path:
    """Return the folder itself, or the lowest above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())
