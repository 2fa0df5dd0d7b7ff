# SPDX-License-Identifier: BSD-3-Clause
"""Run one of our own programs on a twin, within bounds of time and memory.

All ranks of a simulation are executed by one process, so its time and its memory are those of all of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.paths import ROOT
from fabric_twins import launch, processes, simgrid
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin
from fabric_twins.smpirun import failure

#: The sources of the programs.
SOURCE = ROOT / "checks/fabric/src"

#: The last line of the output of our programs.
LAST_LINE = r"# complete: \d+ rows, crc32 [0-9a-f]{8}"

#: The address space of the libraries, and of each rank's stack, which a rank hardly touches.
_BASE_MiB, _STACK_MiB = 1024, 9


@dataclass(frozen=True)
class Bounds:
    """The limits of one simulation.

    :param seconds: of wall time.
    :param memory_MiB: beyond what the libraries and the untouched stacks reserve.
    """

    seconds: float = 600.0
    memory_MiB: int = 4096


def program(name: str, folder: Path | None = None) -> Path:
    """Return one of our programs for the simulator, which is compiled if it is not there yet.

    :param name: the name of its source without the ending.
    :param folder: for compiled programs; ``twins`` in the home of the installation if it is not given.
    :raises TwinError: if it cannot be compiled.
    """
    smpicc = simgrid.tool("smpicc")
    failed = f"{SOURCE / name}.c cannot be compiled for the simulator: smpicc"
    sources = [
        file
        for file in sorted(SOURCE.rglob("*"))
        if file.name == "Makefile" or file.suffix in {".c", ".h"}
    ]
    command = ["make", "-s", "-f", str(SOURCE / "Makefile"), f"CC={smpicc}", name]
    return simgrid.built(
        name,
        sources,
        f"{simgrid.release()} {smpicc}",
        command=command,
        failed=failed,
        folder=folder,
    )


def output(
    twin: Twin,
    nodes: int,
    name: str,
    arguments: Sequence[str],
    bounds: Bounds,
    *,
    ppn: int = 1,
) -> str:
    """Run a program on the first nodes of a twin, with one rank on each or ``ppn``, and return its output.

    :raises TwinError: if it does not come to its end within the bounds, with the cause.
    """
    what = f"{twin.file}: {name} on {nodes} nodes"
    words = [str(program(name)), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        prepared = launch.prepare(twin, nodes, ppn, words, Path(folder))
        stdout, stderr, status = bounded(prepared, nodes * ppn, folder, bounds, what)
    require_end(failure(stdout, stderr, status, LAST_LINE), bounds, what)
    return stdout


def bounded(
    prepared: tuple[list[str], dict[str, str]],
    ranks: int,
    folder: str,
    bounds: Bounds,
    what: str,
) -> tuple[str, str, int]:
    """Run a prepared command; return its output, its errors and its status.

    :param what: the name of the simulation, for messages.
    :raises TwinError: if it takes too long.
    """
    line, environment = prepared
    # The limit holds for the process that simulates; smpirun itself is a shell script.
    limit_KiB = 1024 * (_BASE_MiB + _STACK_MiB * ranks + bounds.memory_MiB)
    command = ["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(limit_KiB), *line]
    return processes.run(command, environment, folder, bounds.seconds, what)


def require_end(cause: str | None, bounds: Bounds, what: str) -> None:
    """Raise :class:`TwinError` if there is a cause why a simulation did not come to its end."""
    if cause is not None:
        limit = (
            f" (the limit is {bounds.memory_MiB} MiB, which --memory-limit raises)"
            if "memory" in cause
            else ""
        )
        raise TwinError(f"{what}: {cause}{limit}")
