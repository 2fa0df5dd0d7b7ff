# SPDX-License-Identifier: BSD-3-Clause
"""Find the SimGrid of this machine, and build once each what simulations need."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from fabric_checks.core.errors import quoted
from fabric_checks.core.locks import BUILD_WAIT_S, exclusive
from fabric_checks.core.paths import ROOT, home
from fabric_checks.software.suite import release_of
from fabric_twins.errors import TwinError
from fabric_twins.smpirun import RELEASES, SUPPORTED

#: The sources of the plugin.
SOURCE = ROOT / "config/twins/plugin"

#: What to do where there is no SimGrid, or another one.
REMEDY = (
    f"install SimGrid {SUPPORTED} (Debian 12 and later: apt-get install libsimgrid-dev; elsewhere: "
    f"spack install simgrid@{RELEASES[0]}, with SIMGRID_ROOT naming its prefix)"
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
    """Return the path of ``smpirun`` of a release that the plugin is written for.

    :raises TwinError: if it is missing or of another release.
    """
    path, installed = tool("smpirun"), release()
    oldest, newest = map(release_of, RELEASES)
    if not oldest <= release_of(installed)[:2] <= newest:
        raise TwinError(
            f"{path}: SimGrid is {installed}, but the plugin of the twins is written for {SUPPORTED};"
            f" {REMEDY}"
        )
    return path


def release() -> str:
    """Return the release of the SimGrid that is installed.

    :raises TwinError: if there is none, or it does not print its release.
    """
    path = tool("smpirun")
    done = subprocess.run(
        [path, "-version"], capture_output=True, text=True, check=False
    )
    version = done.stdout + done.stderr
    found = re.search(r"SimGrid version (\d\S*)", version)
    if found is None:
        raise TwinError(
            f"{path}: -version prints {quoted(version.strip())}, which does not name a SimGrid; {REMEDY}"
        )
    return found[1]


def plugin(folder: Path | None = None) -> Path:
    """Return the plugin, which is built if it is not there yet: once for each SimGrid and each state of its
    source.

    :param folder: for what is built; ``twins`` in the home of the installation if it is not given.
    :raises TwinError: if it cannot be built.
    """
    prefix = os.environ.get("SIMGRID_ROOT")
    makefile = SOURCE / "Makefile"
    return built(
        "twin.so",
        [SOURCE / "twin.cpp", *sorted(SOURCE.glob("*.h")), makefile],
        f"{release()} {tool('smpirun')}",
        command=[
            "make",
            "-f",
            str(makefile),
            *([f"SIMGRID={prefix}"] if prefix else []),
        ],
        failed="the plugin of the twins cannot be built: make",
        remedy="; it needs g++ and the headers of SimGrid",
        folder=folder,
    )


def built(
    name: str,
    sources: Iterable[Path],
    made_for: str,
    *,
    command: Sequence[str],
    failed: str,
    remedy: str = "",
    folder: Path | None = None,
) -> Path:
    """Return a file that is built once for each state of its sources.

    :param made_for: what the file depends on besides, such as a compiler.
    :param command: builds the file in the folder that it runs in.
    :param failed: how the message of a failure begins; :param remedy: how it ends.
    :param folder: for what is built; ``twins`` in the home of the installation if it is not given.
    :raises TwinError: if it cannot be built.
    """
    parts = [made_for.encode(), *(source.read_bytes() for source in sources)]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    path = (folder or home() / "twins") / f"{name}-{key}" / name
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What an interrupt leaves in a folder of its own is not taken for the whole.
        with (
            exclusive(path.parent / "lock", BUILD_WAIT_S),
            tempfile.TemporaryDirectory(dir=path.parent) as scratch,
        ):
            if not path.exists():
                _run(command, scratch, failed, remedy)
                (Path(scratch) / name).rename(path)
    except OSError as error:
        raise TwinError(
            f"{error.filename or path}: {error.strerror}; set FABRIC_HOME to a writable folder"
        ) from None
    return path


def _run(command: Sequence[str], folder: str, failed: str, remedy: str) -> None:
    # A make that this runs under would hand its own options on.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS")
    }
    if shutil.which(command[0]) is None:
        raise TwinError(f"{failed}: {command[0]} is missing; install it")
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = [
            line.strip()
            for line in (done.stdout + done.stderr).splitlines()
            if line.strip()
        ] or ["nothing"]
        first_error = next((line for line in lines if "error:" in line), lines[0])
        raise TwinError(f"{failed} says {quoted(first_error, 160)}{remedy}")
