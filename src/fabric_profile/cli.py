# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks profile``: what a program asks MPI for."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import click

from fabric_checks.cli.verb import Verb, json_option
from fabric_checks.core import console
from fabric_checks.core.errors import FabricError, OutputError
from fabric_profile import library_build as profiler
from fabric_profile import profile as parser
from fabric_profile import table as report
from fabric_profile import trace as trace_parser

#: Where the program's own output goes: standard output has the profile alone, which may be JSON.
_STANDARD_ERROR = 2

_EPILOG = """
\b
Examples:
  fabric-checks profile -- mpirun -np 4 lmp -in in.lj
  fabric-checks profile --output lj.txt --picture lj.svg -- mpirun -np 4 lmp -in in.lj
  fabric-checks profile --read lj.txt --json
  fabric-checks profile --trace lj4 -- mpirun -np 4 lmp -in in.lj       for fabric-checks replay
  fabric-checks profile -- mpirun -x LD_PRELOAD -x FABRIC_PROFILE ...   Open MPI on several nodes
"""


@click.command(
    "profile",
    cls=Verb,
    epilog=_EPILOG,
    statuses={0: "that of the program, if one was run"},
)
@click.option(
    "--read",
    "given",
    type=click.Path(path_type=Path),
    help="Show a profile written earlier.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Keep the profile in this file."
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw it into this file, .svg or .png.",
)
@json_option
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Also write a trace for `fabric-checks replay` into this folder.",
)
@click.option(
    "--mpicc",
    default="mpicc",
    show_default=True,
    help="The compiler wrapper of the program's MPI.",
)
@click.argument("line", nargs=-1, type=click.UNPROCESSED)
def command(
    line: tuple[str, ...],
    given: Path | None,
    output: Path | None,
    picture: Path | None,
    *,
    trace: Path | None,
    as_json: bool,
    mpicc: str,
) -> None:
    """Run LINE, a launcher and an MPI program, and show what the program asks of MPI.

    That is: its messages by size, its time by call, the balance of its ranks. The program is not rebuilt; a
    library is put between it and its MPI. Its output goes to standard error, and its exit status becomes this
    command's. A trace has at most FABRIC_TRACE_BYTES bytes, all ranks together; 1 GiB if that variable is not
    set.
    """
    if bool(line) == bool(given):
        raise click.UsageError(
            "give either a command after --, or a profile with --read"
        )
    status = 0
    if given:
        _refuse_of_a_run(output, trace)
        found = _read(given)
    else:
        with tempfile.TemporaryDirectory(prefix="fabric-checks-profile-") as folder:
            file = (output or Path(folder) / "profile.txt").absolute()
            variables = {profiler.TRACE: str(_empty(trace))} if trace else {}
            status = _run(line, profiler.build(mpicc, Path(folder)), file, variables)
            if not file.exists():
                _explain_nothing(line, status)
            found = _read(file)
    if as_json:
        console.print_json(report.as_json(found))
    else:
        console.print(*report.as_lines(found))
    if picture:
        from fabric_profile import picture as drawing  # noqa: PLC0415  (NumPy is slow to import)

        drawing.draw(found, picture, " ".join(line) if line else str(given))
    if trace:
        _require_trace(trace, len(found.ranks))
    raise SystemExit(status)


def _refuse_of_a_run(output: Path | None, trace: Path | None) -> None:
    if output:
        raise click.UsageError(
            "--output is for a program that is run; with --read the file is already there"
        )
    if trace:
        raise click.UsageError("--trace is for a program that is run")


def _read(path: Path) -> parser.Profile:
    try:
        return parser.parse(path.read_text(errors="replace"))
    except OutputError as error:
        raise FabricError(f"{path}: {error}") from None


def _empty(folder: Path) -> Path:
    """Make the folder of a trace, which has no other in it; return its absolute path."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FabricError(f"{folder}: is not empty; name a new folder for the trace")
    return folder.absolute()


def _require_trace(folder: Path, ranks: int) -> None:
    """Raise an error if the trace cannot be replayed."""
    for rank in range(ranks):
        file = folder / f"rank-{rank}.trace"
        if not file.exists():
            raise FabricError(
                f"{file}: was not written; --trace must name a folder that all hosts of the program share"
            )
        try:
            with file.open(errors="replace", newline="\n") as lines:
                trace_parser.parse(lines)
        except OutputError as error:
            raise FabricError(f"{file}: {error}") from None


def _run(line: tuple[str, ...], library: Path, file: Path, more: dict[str, str]) -> int:
    """Run the command with the library before its MPI; return its exit status as a shell has it."""
    file.unlink(missing_ok=True)
    before = os.environ.get(profiler.PRELOAD)
    variables = {
        profiler.PRELOAD: f"{library}:{before}" if before else str(library),
        profiler.FILE: str(file),
    }
    variables |= more
    try:
        # An interrupt goes to the command, too, and it ends in order.
        done = subprocess.Popen(
            line, env=os.environ | variables, stdout=_STANDARD_ERROR
        )
    except OSError as error:
        raise FabricError(f"{line[0]}: {error.strerror}") from None
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = done.wait()
    finally:
        signal.signal(signal.SIGINT, handler)
    return status if status >= 0 else 128 - status


def _explain_nothing(line: tuple[str, ...], status: int) -> None:
    if status:
        console.error(
            f"error: {line[0]} ended with status {status}, and no profile was written"
        )
        raise SystemExit(status)
    raise FabricError(
        f"{line[0]}: no profile was written: no rank reached MPI_Finalize with the library in front of its"
        " MPI. The program's MPI may not be that of --mpicc, its launcher may not pass variables on, or it"
        " is Fortran on Open MPI"
    )
