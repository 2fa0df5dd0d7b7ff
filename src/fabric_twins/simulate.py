# SPDX-License-Identifier: BSD-3-Clause
"""Running one of our own programs on a twin, within bounds of time and memory.

All ranks of a simulation are executed by one process, so its time and its memory are those of all of them.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.errors import quoted
from fabric_checks.core.locks import BUILD_WAIT_S, exclusive
from fabric_checks.core.paths import ROOT, home
from fabric_twins import launch, simgrid
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin
from fabric_twins.smpirun import failure

#: Where the programs' sources are.
SOURCE = ROOT / "checks" / "fabric" / "src"

#: What our programs print last.
LAST_LINE = r"# complete: \d+ \w+"

#: The address space of the libraries, and of each rank's stack, which a rank hardly touches.
_BASE_MiB, _STACK_MiB = 1024, 9


#: The simulations that run now, in any thread.
_running: set[subprocess.Popen[str]] = set()


@dataclass(frozen=True)
class Bounds:
    """What one simulation may take.

    :param seconds: of wall time.
    :param memory_MiB: beyond what the libraries and the untouched stacks reserve.
    """

    seconds: float = 600.0
    memory_MiB: int = 4096


def program(name: str, folder: Path | None = None) -> Path:
    """Return one of our programs for the simulator, which is compiled if it is not there yet.

    :param name: the name of its source without the ending.
    :param folder: where compiled ones are kept; ``twins`` in the home of the installation if it is not given.
    :raises TwinError: if it cannot be compiled.
    """
    folder = folder or home() / "twins"
    smpicc = simgrid.tool("smpicc")
    parts = [
        file.read_bytes()
        for file in sorted(SOURCE.rglob("*"))
        if file.name == "Makefile" or file.suffix in {".c", ".h"}
    ]
    key = hashlib.sha256(b"\0".join([smpicc.encode(), *parts])).hexdigest()[:12]
    place = folder / f"{name}-{key}" / name
    if place.exists():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(place.parent / "lock", BUILD_WAIT_S):
            if not place.exists():
                _compile(smpicc, place)
    except OSError as error:
        raise TwinError(f"{error.filename or place}: {error.strerror}; set FABRIC_HOME to a writable folder") from None
    return place


def _compile(smpicc: str, place: Path) -> None:
    """Compile in a folder of its own, and move the program to its path when it is whole."""
    stage = place.parent / "stage"
    stage.mkdir(exist_ok=True)
    command = ["make", "-s", "-C", str(stage), "-f", str(SOURCE / "Makefile"), f"CC={smpicc}", place.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["nothing"]
        telling = next((line for line in lines if "error:" in line), lines[0])
        source = SOURCE / f"{place.name}.c"
        raise TwinError(f"{source} cannot be compiled for the simulator: smpicc says {quoted(telling, 160)}")
    (stage / place.name).rename(place)


def output(
    twin: Twin,
    nodes: int,
    name: str,
    arguments: Sequence[str],
    bounds: Bounds,
    *,
    ppn: int = 1,
    flags: Sequence[str] = (),
) -> str:
    """Run a program on the first nodes of a twin, with one rank on each or ``ppn``, and return what it printed.

    :param flags: of SimGrid, more than :data:`fabric_twins.smpirun.FLAGS`.
    :raises TwinError: if it does not come to its end within the bounds, with the cause.
    """
    what = f"{twin.file}: {name} on {nodes} nodes"
    words = [str(program(name)), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        prepared = launch.prepare(twin, nodes, ppn, words, Path(folder), flags=flags)
        stdout, stderr, status = bounded(prepared, nodes * ppn, folder, bounds, what)
    require_end(failure(stdout, stderr, status, LAST_LINE), bounds, what)
    return stdout


def bounded(
    prepared: tuple[list[str], dict[str, str]], ranks: int, folder: str, bounds: Bounds, what: str
) -> tuple[str, str, int]:
    """Run what was prepared; return its output, its errors and its status.

    :param what: what it is, for messages.
    :raises TwinError: if it takes too long.
    """
    line, environment = prepared
    # The limit holds for the process that simulates; smpirun itself is a shell script.
    limit_KiB = 1024 * (_BASE_MiB + _STACK_MiB * ranks + bounds.memory_MiB)
    command = ["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(limit_KiB), *line]
    return _run(command, environment, folder, bounds.seconds, what)


def require_end(cause: str | None, bounds: Bounds, what: str) -> None:
    """Raise :class:`TwinError` if there is a cause why a simulation did not come to its end."""
    if cause is not None:
        limit = f" (the limit is {bounds.memory_MiB} MiB, which --memory-limit raises)" if "memory" in cause else ""
        raise TwinError(f"{what}: {cause}{limit}")


def _run(
    command: Sequence[str], environment: dict[str, str], folder: str, seconds: float, what: str
) -> tuple[str, str, int]:
    """Run a command; whatever it started ends with it."""
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        _running.add(process)
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TwinError(
                f"{what}: the simulation is not done after {seconds:g} s; give it fewer nodes or fewer --shifts, or "
                "raise --time-limit"
            ) from None
        finally:
            _end(process)
            _running.discard(process)
    return stdout, _without_progress(stderr), process.returncode


def _end(process: subprocess.Popen[str]) -> None:
    """Kill what is left of a simulation."""
    with suppress(ProcessLookupError):  # it has ended since
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def end_running() -> None:
    """Kill the simulations that run now, in all threads: an interrupt comes to the main one alone."""
    for process in list(_running):
        _end(process)


def _without_progress(stderr: str) -> str:
    """Leave out what our programs say on their way, which is no cause of anything."""
    return re.sub(r"(?m)^\w+: .* s left$\n?", "", stderr)
