# SPDX-License-Identifier: BSD-3-Clause
"""Our own MPI programs, built and run for real on every MPI that is set up."""

import os
import subprocess
from pathlib import Path

import pytest

from fabric_checks.parsers import placement
from tests import programs
from tests.fabric import builds
from tests.fabric.builds import MPIS, PROGRAMS, SOURCES, environment
from tests.guard import GUARD_S

SHORT = ["--max-seconds-per-point", "0.01", "--max-size", "4K"]


class Mpi:
    """One MPI with our programs built by it: all, if none is named."""

    def __init__(self, name, folder, *programs):
        self.name, self.env, self.folder = name, environment(name), folder
        for program in programs or PROGRAMS:
            builds.make(name, program, folder / program)

    def run(self, ranks, program, *arguments, stdout=subprocess.PIPE):
        command = ["mpirun", "-np", str(ranks), str(self.folder / program), *arguments]
        return subprocess.run(
            command,
            env=self.env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=GUARD_S,
        )


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, tmp_path_factory):
    return Mpi(request.param, tmp_path_factory.mktemp(request.param), "placement")


def test_make_builds_everything_with_the_warnings_demanded():
    """Tests build programs one by one; users build what the Makefile lists."""
    command = ["make", "-n", "-B", "-C", SOURCES, "CC=mpicc"]
    done = programs.succeed(command)
    lines = [
        line.split() for line in done.stdout.splitlines() if line.startswith("mpicc ")
    ]
    assert sorted(line[line.index("-o") + 1] for line in lines) == PROGRAMS
    for line in lines:
        name = line[line.index("-o") + 1]
        own = {"ports": {"-Wl,--as-needed"}, "rotate": {"-ldl"}}.get(name, set())
        assert {word for word in line if not word.endswith(".c")} == {
            "mpicc",
            *builds.OWN,
            *own,
            "-o",
            name,
        }


def test_placement_tells_where_every_rank_is(mpi):
    done = mpi.run(2, "placement")
    assert done.returncode == 0, done.stderr
    output = placement.parse(done.stdout)
    assert [rank.rank for rank in output.ranks] == [0, 1]
    expected = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel(R) MPI"}[
        mpi.name
    ]
    assert expected in output.mpi
    allowed = os.sched_getaffinity(0)
    for rank in output.ranks:
        assert rank.cores and len(rank.cores) <= len(allowed)


@pytest.mark.parametrize(
    "asked, status",
    [
        ("--nodes 1 --ppn 2 --shared", 0),
        ("--nodes 2 --ppn 1", 3),
        ("--nodes 1 --ppn 1", 3),
    ],
)
def test_placement_fails_where_the_ranks_are_not_as_asked(mpi, asked, status):
    """With the whole table, from which the sanity of the check names the ranks."""
    done = mpi.run(2, "placement", *asked.split())
    assert bool(done.returncode) == bool(status), done.stderr
    assert len(placement.parse(done.stdout).ranks) == 2


@pytest.mark.skipif(
    os.geteuid() != 0, reason="another /dev/shm is mounted by root only"
)
def test_placement_tells_of_a_full_shared_memory(mpi):
    """Before MPI starts, which may die of that without a word."""
    full = "mount -t tmpfs -o size=64k none /dev/shm && head -c 64K /dev/zero >/dev/shm/left && exec"
    line = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'{full} timeout 20 "$0"',
        mpi.folder / "placement",
    ]
    done = programs.run(line, env=mpi.env)
    assert ": /dev/shm is full: 0 of 65536 B are free" in done.stderr, done.stderr


def test_placement_fails_where_two_ranks_are_bound_to_one_core(mpi):
    one = str(min(os.sched_getaffinity(0)))
    bound = [
        "taskset",
        "-c",
        one,
        mpi.folder / "placement",
        "--nodes",
        "1",
        "--ppn",
        "2",
    ]
    for shared in ([], ["--shared"]):
        command = ["mpirun", "-np", "2", *bound, *shared]
        done = programs.run(command, env=mpi.env)
        assert bool(done.returncode) != bool(shared), done.stderr


def test_a_full_disk_is_an_error(mpi):
    """Started by itself, because the launchers own standard output and see the full disk first."""
    with Path("/dev/full").open("w") as full:
        pipe = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        done = programs.run([mpi.folder / "placement"], env=mpi.env, **pipe)
    assert done.returncode != 0
    assert "placement: " in done.stderr
