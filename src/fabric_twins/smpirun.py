# SPDX-License-Identifier: BSD-3-Clause
"""Write the command line of a simulation, and find out whether it ended well.

SimGrid's exit status is no evidence: after MPI_Abort and after a deadlock it is 0. A simulation has ended
well only if the program printed its last line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fabric_checks.core.errors import quoted
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin
from fabric_twins.model.topology import host_names

#: The environment variable by which the plugin finds its platform file.
PLATFORM_VARIABLE = "FABRIC_TWIN_PLATFORM"

#: The oldest and the newest release of SimGrid that the plugin is written for.
RELEASES = ("3.32", "4.1")

#: Both, for messages.
SUPPORTED = " to ".join(RELEASES)

#: The same for all twins. Simulated time is that of the twin's costs alone: what the programs compute takes
#: none, and the factors by which SimGrid corrects them are those of another cluster. Reading the clock and
#: asking for a message take a little, or loops that wait for either would never end. Flows share by their
#: number, not by their latency. Names of switches follow the options that they stand for.
FLAGS = (
    "--log=root.t:critical",
    # How MPI_Abort shows, the exit status being 0.
    "--log=smpi_pmpi.t:warning",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/wtime:1e-7",
    "--cfg=smpi/test:1e-8",
    "--cfg=smpi/iprobe:1e-8",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/weight-S:0",
    "--cfg=smpi/barrier:ompi_tree",
    # SimGrid's own have the root wait for all ranks at once, which takes it a time that grows with their
    # square.
    "--cfg=smpi/reduce:binomial",
    "--cfg=smpi/gather:ompi_binomial",
)

#: Options of our programs that sample times. Nothing disturbs a simulated clock, so few samples say as much
#: as many. A sample of 50 us rather than 200 us still makes the reading of the clock, which takes 0.1 us of
#: simulated time, less than half a per cent of a value.
FEWEST = (
    "--max-seconds-per-point",
    "0.0001",
    "--min-samples",
    "8",
    "--warmup",
    "1",
    "--min-batch",
    "0.00005",
)

#: The options of each program on a twin; of two options of one name the last counts. Rotate needs only a few
#: of the pairs that share a cable: each is slow, and is so when measured again.
PROGRAM_OPTIONS = {
    **dict.fromkeys(
        (
            "streaming",
            "buffer_reuse",
            "hot_spot",
            "notification",
            "overlap",
            "collective_overlap",
        ),
        FEWEST,
    ),
    "rotate": (
        "--size",
        "1M",
        "--messages",
        "2",
        "--tests",
        "1",
        "--confirm-limit",
        "8",
    ),
    "latency_map": (
        "--samples",
        "1",
        "--repetitions",
        "1",
        "--warmup",
        "1",
        "--passes",
        "1",
    ),
}

#: Variables that make a simulation faster and change nothing in it. Large pages save it a sixth of its time:
#: it goes through the stacks and messages of all ranks in turn, which no cache holds.
FASTER = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def command(
    twin: Twin,
    plugin: Path,
    hostfile: Path,
    ranks: int,
    program: Sequence[str],
    *,
    smpirun: str = "smpirun",
    flags: Sequence[str] = (),
) -> list[str]:
    """Return the complete command line; :data:`PLATFORM_VARIABLE` has to name the platform file.

    :param plugin: the plugin as it was built, ``twin.so``.
    :param hostfile: what :func:`hostfile` returned, in a file.
    :param program: the program and its arguments.
    :param flags: in addition to :data:`FLAGS`.
    """
    eager = twin.eager_below_B
    waits = (
        twin.inter_node.in_turn_below_B is not None or twin.inter_node.adapter_us > 0
    )
    return [
        smpirun,
        *FLAGS,
        *flags,
        f"--cfg=smpi/async-small-thresh:{eager}",
        f"--cfg=smpi/send-is-detached-thresh:{eager}",
        f"--cfg=smpi/coll-selector:{twin.collectives}",
        # A message that waits for its turn has a long latency, which no window of TCP has to cover.
        *(["--cfg=network/TCP-gamma:0"] if waits else []),
        # It intercepts calls of MPI only if it is loaded before SimGrid.
        *(
            ["-wrapper", f"env LD_PRELOAD={plugin.absolute()}"]
            if twin.inter_node.needs_calls
            else []
        ),
        "-platform",
        # SimGrid knows a plugin by its slash and its ending.
        str(plugin.absolute()),
        "-hostfile",
        str(hostfile),
        "-np",
        str(ranks),
        *program,
    ]


def hostfile(twin: Twin, nodes: int, ppn: int) -> str:
    """Return the list of hosts: the first ``nodes`` of the twin, ``ppn`` ranks on each in a row.

    :raises TwinError: if the twin is smaller.
    """
    if not 1 <= nodes <= twin.nodes or not 1 <= ppn <= twin.cpus_per_node:
        raise TwinError(
            f"{twin.file}: nodes: {twin.name} has {twin.nodes} nodes of {twin.cpus_per_node} processors, so"
            f" {nodes} x {ppn} do not fit; ask for less, or raise those numbers"
        )
    return "".join(f"{name}\n" * ppn for name in host_names(twin.nodes)[:nodes])


#: Exit statuses of a process that the kernel killed, in Python and in a shell.
_KILLED = (-9, 128 + 9)

#: Messages of SimGrid about failures whose exit status is 0.
_BAD_END_OF_STATUS_0 = r"Deadlock detected|MPI_Abort was called"

#: Messages of simulations that did not end well, and their causes. The first that matches counts.
_CAUSES: tuple[tuple[str, str], ...] = (
    (
        r"smpirun: .*(not found|No such file)|No such file or directory: '?smpirun",
        f"SimGrid is not there; install SimGrid {SUPPORTED}",
    ),
    (
        r"libsimgrid\S*: cannot open shared object",
        "the plugin was built with another SimGrid; delete `twins` in FABRIC_HOME, so that it is built anew",
    ),
    (r"twin\.so: (?P<text>.+)", "{text}"),
    (
        r"the file '(?P<text>[^']+)' does not exist",
        "{text} is not there; build or write it first",
    ),
    (
        r"Deadlock detected",
        "the simulated ranks wait for each other (deadlock); look for a message that is never sent",
    ),
    (r"MPI_Abort was called", "a rank called MPI_Abort: {first}"),
    (
        r"Memory allocation of \d+ bytes failed|bad_alloc|[Cc]annot allocate memory|[Oo]ut of memory",
        (
            "the simulation ran out of memory, because all ranks are in one process; give it fewer ranks or"
            " smaller messages"
        ),
    ),
)


def failure(stdout: str, stderr: str, status: int, last_line: str | None) -> str | None:
    """Return why a simulation did not end well; None if it did.

    :param status: the exit status, negative or above 128 for a signal.
    :param last_line: a regular expression for what the program prints last, such as ``# complete: \\d+
        rows``; None if the caller does not know it. Then an end with status 0 is good unless a message of
        SimGrid reports a failure.
    :returns: cause and remedy in one line.
    """
    if last_line is None:
        is_good = not re.search(_BAD_END_OF_STATUS_0, stderr)
    else:
        lines = _said(stdout)
        is_good = bool(lines) and re.fullmatch(last_line, lines[-1]) is not None
    if is_good and status == 0:
        return None
    return _cause(stdout, stderr, status)


def _cause(stdout: str, stderr: str, status: int) -> str:
    """Return why a simulation failed, and the remedy."""
    lines, errors = _said(stdout), _said(stderr)
    first = quoted(errors[0], 160) if errors else "it gave no reason"
    for pattern, cause in _CAUSES:
        found = re.search(pattern, f"{stderr}\n{stdout}")
        if found is not None:
            detail = found.groupdict().get("text") or ""
            return " ".join(cause.format(text=detail.strip(), first=first).split())
    if status in _KILLED:
        return (
            "the simulation was killed, most likely because of its memory use; give it fewer nodes or smaller"
            " messages"
        )
    last = ["nothing", *lines, *errors][-1]
    how = "ended" if status == 0 else f"ended with status {status}"
    return f"the simulation {how} before the program's last line; its last line is {quoted(last, 160)}"


def _said(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line.strip() for line in text.splitlines() if line.strip()]
