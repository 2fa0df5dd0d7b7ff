# SPDX-License-Identifier: BSD-3-Clause
"""Python packages that some checks need beyond ReFrame's own; they are required when such a check needs them.

`ci/run` installs them all. With another ReFrame the missing ones may be installed into a folder of this home, so that
neither the installation of that ReFrame is changed nor a variable has to be set.
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
    """Return the folder for packages of this Python: in the home, or, if that belongs to another user, in a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fabric-checks"
    existing = next(path for path in (home(), *home().parents) if path.exists())
    base = home() if os.access(existing, os.W_OK) else cache
    return base / "python" / str(sys.implementation.cache_tag)


def require(packages: Iterable[str], why: str) -> None:
    """Require that packages can be imported, also from :func:`folder`.

    :param why: the purpose, as in ``Rotate needs them to tell a slow node from a slow path``.
    :raises MissingPackageError: with those that cannot, and the command that installs them.
    """
    extra = folder()
    # At the end: packages of ReFrame's installation precede dependencies that were installed here.
    if extra.is_dir() and str(extra) not in sys.path:
        sys.path.append(str(extra))
        invalidate_caches()
    missing = " ".join(package for package in packages if find_spec(package) is None)
    if missing:
        raise MissingPackageError(
            f"missing Python packages: {missing}: {why}. To install them for this collection alone: {_pip()} --target "
            f"{shlex.quote(str(extra))} {missing}"
        )


def _pip() -> str:
    """Return the command that installs packages for this Python; a virtual environment of uv has no pip."""
    if find_spec("pip") is not None:
        return f"{shlex.quote(sys.executable)} -m pip install"
    return f"uv pip install --python {shlex.quote(sys.executable)}"
