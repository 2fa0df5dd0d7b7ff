# SPDX-License-Identifier: BSD-3-Clause
"""Build the library that profiles a program, once for each MPI; see ``checks/fabric/src/build.sh``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.software.programs import OWN_SOURCES, build_own

#: The variable that preloads the library, and the one that names the file which it writes.
PRELOAD, FILE = "LD_PRELOAD", "FABRIC_PROFILE"

#: The variable that names the folder for a trace, if there is to be one.
TRACE = "FABRIC_TRACE"


def build(mpicc: str, folder: Path) -> Path:
    """Build the library, or take one that is kept.

    :param mpicc: the compiler wrapper of the MPI that the program runs on.
    :param folder: an empty folder for it, to be kept as long as it is used.
    :raises FabricError: if it cannot be built.
    """
    source = folder / "src"
    shutil.copytree(OWN_SOURCES, source)
    command = build_own(mpicc, profiler=True)
    done = subprocess.run(
        command,
        cwd=source,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    library = source / "profile.so"
    if done.returncode or not library.exists():
        lines = [
            line.strip()
            for line in (done.stderr + done.stdout).splitlines()
            if line.strip()
        ]
        first_error = next(
            (line for line in lines if "error:" in line),
            lines[-1] if lines else "nothing",
        )
        raise FabricError(
            f"{mpicc}: the profiling library cannot be built: it says {quoted(first_error, 200)}; name the"
            " compiler wrapper of the program's MPI with --mpicc"
        )
    return library
