# SPDX-License-Identifier: BSD-3-Clause
"""Require the Python packages that some checks need beyond ReFrame's own, at the time of use.

`ci/run` installs them all; another ReFrame may lack some.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from importlib.util import find_spec

from fabric_checks.core.errors import FabricError


class MissingPackageError(FabricError):
    """Required Python packages are not installed."""


def require(packages: Iterable[str], why: str) -> None:
    """Require that packages can be imported.

    :param why: the purpose, as in ``Rotate needs them to tell a slow node from a slow path``.
    :raises MissingPackageError: with the missing packages, and the command that installs them.
    """
    missing = " ".join(package for package in packages if find_spec(package) is None)
    if missing:
        raise MissingPackageError(
            f"missing Python packages: {missing}: {why}; install them for this ReFrame:"
            f" {shlex.quote(sys.executable)} -m pip install {missing} (where you may not: --target FOLDER,"
            " and FOLDER in PYTHONPATH)"
        )
