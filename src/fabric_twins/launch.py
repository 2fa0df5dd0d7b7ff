# SPDX-License-Identifier: BSD-3-Clause
"""Launch a program on a twin: ``python -m fabric_twins.launch --nodes 2 --ppn 1 PROGRAM [ARGUMENT ...]``.

It does what ``mpirun`` does on a machine, on the twin whose description FABRIC_TWIN names. Output and errors
are the program's. As many simulations run at once as there are processors, and the time that each may take is
processor time: what else goes on changes neither its values nor whether it ends. SimGrid's exit status is no
evidence (a deadlock and MPI_Abort end with 0), so that of this command is 0 only if no message reports a
failure; the cause is the last line on standard error.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabric_checks.core import console
from fabric_checks.core.errors import FabricError, quoted
from fabric_twins import processes, simgrid
from fabric_twins.errors import TwinError
from fabric_twins.model import description, platform_file
from fabric_twins.smpirun import FASTER, PLATFORM_VARIABLE, command, failure, hostfile

#: The environment variable that names the description of the twin.
TWIN_VARIABLE = "FABRIC_TWIN"

#: The environment variable with the limit of a simulation's processor time, in s, and the default.
LIMIT_VARIABLE = "FABRIC_TWIN_SECONDS"
_LIMIT_S = 600

#: Variables of the real machine's batch system, which would pass for the names of simulated hosts.
_OF_THE_REAL_MACHINE = ("SLURMD_NODENAME",)


#: Exit statuses of a process that ran out of processor time, in Python and in a shell.
_OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


def prepare(
    twin: description.Twin,
    nodes: int,
    ppn: int,
    program: Sequence[str],
    folder: Path,
    *,
    flops: float | None = None,
    flags: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Write the files of a simulation, and return its command line and environment.

    :param folder: receives the platform file and the list of hosts.
    :param ranks: how many; as many as fit if it is not given.
    :param flops: the speed of a processor, where something computes in simulated time.
    :param flags: of SimGrid, in addition to :data:`fabric_twins.smpirun.FLAGS`.
    :raises TwinError: if the twin is too small, or if SimGrid or the plugin is missing.
    """
    hosts = hostfile(twin, nodes, ppn)
    smpirun, plugin = simgrid.smpirun(), simgrid.plugin()
    platform = folder / f"{twin.name}.platform"
    host_list = folder / f"{twin.name}-{nodes}x{ppn}.hosts"
    platform.write_text(platform_file.platform(twin, flops))
    host_list.write_text(hosts)
    line = command(
        twin, plugin, host_list, nodes * ppn, program, smpirun=smpirun, flags=flags
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_THE_REAL_MACHINE
    }
    return line, FASTER | environment | {PLATFORM_VARIABLE: str(platform.absolute())}


def launch(
    twin: description.Twin,
    nodes: int,
    ppn: int,
    program: Sequence[str],
    folder: Path,
    *,
    limit_s: int = _LIMIT_S,
) -> str | None:
    """Run a program on a twin, as soon as a processor is free for it; return why it did not end well, or
    None.

    What it prints goes where this process prints.

    :param limit_s: the processor time that it may take.
    """
    line, environment = prepare(twin, nodes, ppn, program, folder)
    with processes.slot():
        # One process simulates all ranks; it inherits the limit.
        resource.setrlimit(
            resource.RLIMIT_CPU, (limit_s, resource.getrlimit(resource.RLIMIT_CPU)[1])
        )
        done = subprocess.run(
            line,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    sys.stderr.write(done.stderr)
    if done.returncode in _OUT_OF_TIME:
        return (
            f"the simulation is not done after {limit_s} s of processor time; give it fewer nodes or smaller"
            f" messages, or raise {LIMIT_VARIABLE}"
        )
    return failure("", done.stderr, done.returncode, None)


def _limit_s(variables: Mapping[str, str]) -> int:
    text = variables.get(LIMIT_VARIABLE) or str(_LIMIT_S)
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise TwinError(
            f"{LIMIT_VARIABLE} is {quoted(text)}; set it to a number of seconds, 1 or more"
        )
    return int(text)


def main(
    arguments: Sequence[str] | None = None, variables: Mapping[str, str] = os.environ
) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m fabric_twins.launch", description=__doc__
    )
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--ppn", type=int, required=True, help="processes on each node")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    try:
        if not variables.get(TWIN_VARIABLE):
            raise TwinError(
                f"{TWIN_VARIABLE} is not set; set it to the description of a twin (config/twins/*.yaml)"
            )
        twin = description.load(Path(variables[TWIN_VARIABLE]))
        cause = launch(
            twin,
            given.nodes,
            given.ppn,
            given.program,
            Path.cwd(),
            limit_s=_limit_s(variables),
        )
    except FabricError as error:
        cause = str(error)
    except OSError as error:
        cause = f"{error.filename}: {error.strerror}"
    if cause is None:
        return 0
    console.error(f"error: {cause}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
