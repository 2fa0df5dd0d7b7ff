# SPDX-License-Identifier: BSD-3-Clause
"""The SimGrid of this machine, and what is built once: the plugin with it, and the flows without."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from fabric_checks.core.errors import quoted
from fabric_checks.core.locks import BUILD_WAIT_S, exclusive
from fabric_checks.core.paths import ROOT, home
from fabric_twins.errors import TwinError
from fabric_twins.smpirun import RELEASE, require_release

#: Where the plugin's source is.
SOURCE = ROOT / "config" / "twins" / "plugin"

#: What to do where there is no SimGrid, or another one.
REMEDY = (
    f"install SimGrid {RELEASE} (Debian 12: apt-get install libsimgrid-dev; elsewhere: "
    f"spack install simgrid@{RELEASE}, with SIMGRID_ROOT naming its prefix)"
)


def tool(name: str) -> str:
    """Return the path of a tool of SimGrid: from the prefix that SIMGRID_ROOT names, or else from PATH.

    :raises TwinError: if there is none.
    """
    prefix = os.environ.get("SIMGRID_ROOT")
    found = shutil.which(name, path=f"{prefix}/bin" if prefix else None)
    if found is None:
        where = f"in {prefix}/bin (SIMGRID_ROOT)" if prefix else "on PATH"
        raise TwinError(f"there is no {name} {where}; {REMEDY}")
    return found


def smpirun() -> str:
    """Return the path of ``smpirun`` of the release that the plugin is written for.

    :raises TwinError: if it is missing or of another release.
    """
    path = tool("smpirun")
    done = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    try:
        require_release(done.stdout + done.stderr)
    except TwinError as error:
        raise TwinError(f"{path}: {error}; {REMEDY}") from None
    return path


def plugin(folder: Path | None = None) -> Path:
    """Return the plugin, which is built if it is not there yet: once for each SimGrid and each state of its source.

    :param folder: where built ones are kept; ``twins`` in the home of the installation if it is not given.
    :raises TwinError: if it cannot be built.
    """
    needs = "the plugin of the twins", "g++ and the headers of SimGrid"
    return _built("twin.so", "twin.cpp", f"{RELEASE} {tool('smpirun')}", needs, folder)


def flows(folder: Path | None = None) -> Path:
    """Return the program that follows flows (`config/twins/plugin/flows.cpp`), as :func:`plugin`; without SimGrid."""
    return _built("flows", "flows.cpp", platform.machine(), ("the program of the flows", "g++"), folder)


def _built(name: str, source: str, made_for: str, needs: tuple[str, str], folder: Path | None) -> Path:
    folder = folder or home() / "twins"
    parts = [part.read_bytes() for part in (SOURCE / source, *sorted(SOURCE.glob("*.h")), SOURCE / "Makefile")]
    key = hashlib.sha256(b"\0".join([*parts, made_for.encode()])).hexdigest()[:12]
    place = folder / key / name
    if place.exists():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(place.parent / "lock", BUILD_WAIT_S):
            if not place.exists():
                _build(place, *needs)
    except OSError as error:
        raise TwinError(f"{error.filename or place}: {error.strerror}; set FABRIC_HOME to a writable folder") from None
    return place


def _build(place: Path, what: str, needs: str) -> None:
    """Build into a folder of its own: what an interrupt leaves there is not the whole."""
    prefix = os.environ.get("SIMGRID_ROOT")
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        command = ["make", "-f", str(SOURCE / "Makefile"), place.name, *([f"SIMGRID={prefix}"] if prefix else [])]
        # A make that this runs under would hand its own options on.
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise TwinError(f"make, which builds {what}, is missing; install it") from None
        if done.returncode != 0:
            lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
            telling = [line for line in lines if "error" in line] or [line for line in lines if line] or ["nothing"]
            raise TwinError(f"{what} cannot be built: make says {quoted(telling[0], 160)}; it needs {needs}")
        (Path(folder) / place.name).rename(place)
