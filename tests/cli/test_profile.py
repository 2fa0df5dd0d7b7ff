# SPDX-License-Identifier: BSD-3-Clause
"""The command ``profile``, up to the program that it runs."""

import json
import os
import subprocess
from functools import partial
from xml.etree import ElementTree

import pytest

from fabric_checks.core.errors import FabricError
from tests import calling, programs
from tests.conftest import GOLDEN
from tests.fabric.test_programs import environment

GOLDEN_FILE = GOLDEN / "profile/mpich-5.0.2-lammps-lj.4ranks.txt"
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("from the program");
    if (argc > 1 && strcmp(argv[1], "unfinished") == 0) _Exit(0);
    MPI_Finalize();
    return 7;
}
"""


call = partial(calling.invoke, "profile")


def test_a_profile_that_was_written_before(tmp_path):
    done = call("--read", GOLDEN_FILE, "--picture", tmp_path / "a.svg")
    assert done.exit_code == 0 and "4 ranks on 1 host" in done.output
    ElementTree.parse(tmp_path / "a.svg")
    assert (
        json.loads(call("--read", GOLDEN_FILE, "--json").output)["figures"][
            "profile_partners"
        ]
        == 2
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "give either a command after --, or a profile with --read"),
        (("--read", GOLDEN_FILE, "--", "true"), "give either a command"),
        (
            ("--read", GOLDEN_FILE, "--output", "x"),
            "with --read the file is already there",
        ),
        (
            ("--read", GOLDEN_FILE, "--trace", "x"),
            "--trace is for a program that is run",
        ),
    ],
)
def test_what_cannot_be_meant(arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2 and message in " ".join(done.output.split())


def test_a_cut_profile_is_one_line(tmp_path):
    path = tmp_path / "cut.txt"
    path.write_text(GOLDEN_FILE.read_text()[:-30])
    done = call("--read", path)
    assert isinstance(done.exception, FabricError)
    assert (
        str(done.exception)
        == f"{path}: the profile is cut off: its last line is not '# complete: ...'"
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "a.c").write_text(PROGRAM)
    done = subprocess.run(
        ["mpicc", folder / "a.c", "-o", folder / "a"],
        env=environment("mpich"),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "a"


def run(*arguments):
    env = environment("mpich") | {
        "PATH": f"{environment('mpich')['PATH']}:{os.environ['PATH']}"
    }
    command = ["fabric-checks", "profile", *map(str, arguments)]
    return programs.run(command, env=env)


def test_a_program_is_run_and_its_status_is_handed_on(program, tmp_path):
    done = run(
        "--output", tmp_path / "a.txt", "--json", "--", "mpirun", "-np", "2", program
    )
    assert done.returncode == 7, done.stderr
    assert "from the program" in done.stderr
    ranks = json.loads(done.stdout)["ranks"]
    assert [
        [(each["call"], each["count"]) for each in rank["calls"]] for rank in ranks
    ] == [[("Barrier", 1)]] * 2
    assert (tmp_path / "a.txt").read_text().endswith("# complete: 2 ranks\n")


def test_a_trace_beside_the_profile(program, tmp_path):
    """It is held to what a replay wants; the program's own fault goes first, and a folder has one trace."""
    folder = tmp_path / "trace"
    done = run("--trace", folder, "--json", "--", "mpirun", "-np", "2", program)
    assert done.returncode == 7 and "error" not in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "rank-0.trace",
        "rank-1.trace",
    ]
    lines = [
        line.split()[1]
        for line in (folder / "rank-1.trace").read_text().splitlines()
        if line.startswith("1 ")
    ]
    assert [name for name in lines if name != "compute"] == [
        "init",
        "barrier",
        "finalize",
    ]
    done = run("--trace", folder, "--", "mpirun", "-np", "2", program)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"error: {folder}: is not empty; name a new folder for the trace\n"
    )


def test_a_program_without_a_profile(program):
    done = run("--", "mpirun", "-np", "2", program, "unfinished")
    assert done.returncode == 1 and "mpirun: no profile was written" in done.stderr
    done = run("--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert "sh ended with status 5, and no profile was written" in done.stderr
    done = run("--", "/no/such/program")
    assert done.returncode == 1
    assert "/no/such/program: No such file or directory" in done.stderr
