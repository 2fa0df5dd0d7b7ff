# SPDX-License-Identifier: BSD-3-Clause
"""Our programs as the tests build them: once in a run for each MPI, program and flags, whichever module needs
them.

Compilers take more processor time than most of the programs under test. What is built is kept under the state
of all that it was made of, so whoever changes a source or a header has a build of its own.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from fabric_checks.core import locks
from fabric_checks.software import installed
from tests import programs
from tests.conftest import ROOT

SOURCES = ROOT / "checks" / "fabric" / "src"
MPIS = ("mpich", "openmpi", "impi")
#: The programs, without the library that profiles others.
PROGRAMS = sorted(path.stem for path in SOURCES.glob("*.c"))
#: The flags of the Makefile, and those that the tests add.
OWN = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic"]
STRICT = ["-Wshadow", "-Wconversion", "-Werror"]

_shared: list[Path] = []


def environment(mpi):
    """Return the environment of an MPI whose ranks offer their cores to others while they wait, where it can
    be set."""
    prefix = installed.folder(mpi)
    return os.environ | {
        "PATH": f"{prefix}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{prefix}/lib",
        "HYDRA_LAUNCHER": "fork",
        "I_MPI_HYDRA_BOOTSTRAP": "fork",
        "I_MPI_ROOT": str(prefix),
        "I_MPI_THREAD_YIELD": "3",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def share(folder):
    """Keep what is built in this folder from now on, for all processes that share it."""
    _shared[:] = [folder / "builds"]


def make(mpi, program, path, *, flags=STRICT, sources=()):
    """Put a program there as the Makefile builds it, with these flags and further sources."""

    def build(stage):
        words = ["make", "-C", stage, "-f", SOURCES / "Makefile", "CC=mpicc"]
        _run(mpi, [*words, f"CFLAGS={' '.join(map(str, [*flags, *sources]))}", program])
        return stage / program

    _take(
        ["make", mpi, program, *flags],
        [SOURCES / "Makefile", *sources],
        build,
        mpi,
        path,
    )


def compile_alone(mpi, sources, flags, path):
    """Put a program of the tests there; flags may name libraries."""

    def build(stage):
        _run(mpi, ["mpicc", *sources, *flags, "-o", stage / "program"])
        return stage / "program"

    _take(["mpicc", mpi, *flags], sources, build, mpi, path)


def _take(words, sources, build, mpi, path):
    """Copy a program from where it is kept, where it is built first if nobody has done so."""
    assert (installed.folder(mpi) / "bin" / "mpicc").exists(), (
        f"{mpi} is not set up; run ci/test"
    )
    if not _shared:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(build(Path(folder)), path)
        return
    (kept,) = _shared
    kept.mkdir(exist_ok=True)
    built = kept / _state([str(installed.folder(mpi)), *words], sources)
    with locks.exclusive(built.with_suffix(".lock"), locks.BUILD_WAIT_S):
        if not built.exists():
            with tempfile.TemporaryDirectory(dir=kept) as folder:
                build(Path(folder)).rename(built)
    # A copy, so that a process tells by its program which test it belongs to.
    shutil.copy(built, path)


def _state(words, sources):
    """Return a name for what a program is made of: the command, its sources, and all of our own."""
    state = hashlib.sha256("\0".join(words).encode())
    for source in [*sources, *sorted(SOURCES.rglob("*.[ch]"))]:
        text = source.read_bytes()
        state.update(f"\0{source.name} {len(text)}\0".encode() + text)
    return state.hexdigest()


def _run(mpi, command):
    programs.succeed(command, env=environment(mpi))
