# SPDX-License-Identifier: BSD-3-Clause
"""Our own MPI programs, built and run for real on every MPI that is set up."""

import os
import subprocess
from pathlib import Path

import pytest

from fabric_checks.parsers import placement
from fabric_checks.software import installed
from tests.conftest import TESTS
from tests.guard import GUARD_S

SOURCES = TESTS.parent / "checks" / "fabric" / "src"
MPIS = ("mpich", "openmpi", "impi")
#: The programs, without the library that profiles others.
PROGRAMS = sorted(path.stem for path in SOURCES.glob("*.c") if path.suffixes == [".c"])
SHORT = ["--max-seconds-per-point", "0.01", "--max-size", "4K"]


def environment(mpi):
    prefix = installed.folder(mpi)
    env = os.environ | {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{prefix}/lib"}
    env |= {
        "HYDRA_LAUNCHER": "fork",
        "I_MPI_HYDRA_BOOTSTRAP": "fork",
        "I_MPI_ROOT": str(prefix),
        "I_MPI_THREAD_YIELD": "3",
    }
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return env | {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


class Mpi:
    """One MPI with our programs built by it: all, if none is named."""

    def __init__(self, name, folder, *programs):
        self.name, self.env, self.folder = name, environment(name), folder
        build = ["make", "-C", str(folder), "CC=mpicc", "CFLAGS=-Werror", *programs]
        done = subprocess.run(build, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, ranks, program, *arguments, stdout=subprocess.PIPE):
        command = ["mpirun", "-np", str(ranks), str(self.folder / program), *arguments]
        return subprocess.run(command, env=self.env, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=GUARD_S)


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, tmp_path_factory):
    assert (installed.folder(request.param) / "bin" / "mpicc").exists(), f"{request.param} is not set up; run ci/test"
    folder = tmp_path_factory.mktemp(request.param)
    for source in SOURCES.iterdir():
        (folder / source.name).write_text(source.read_text())
    return Mpi(request.param, folder)


def test_placement_tells_where_every_rank_is(mpi):
    done = mpi.run(2, "placement")
    assert done.returncode == 0, done.stderr
    output = placement.parse(done.stdout)
    assert [rank.rank for rank in output.ranks] == [0, 1]
    expected = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel(R) MPI"}[mpi.name]
    assert expected in output.mpi
    allowed = os.sched_getaffinity(0)
    for rank in output.ranks:
        assert rank.cores and len(rank.cores) <= len(allowed)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_states_the_method_without_a_launcher(mpi, program):
    done = subprocess.run(
        [mpi.folder / program, "--help"], env=mpi.env, capture_output=True, text=True, timeout=GUARD_S
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 5
    assert "--help" in done.stdout


def test_a_full_disk_is_an_error(mpi):
    """Started by itself, because the launchers own standard output and see the full disk first."""
    with Path("/dev/full").open("w") as full:
        command = [mpi.folder / "placement"]
        done = subprocess.run(command, env=mpi.env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=GUARD_S)
    assert done.returncode != 0
    assert "placement: " in done.stderr
