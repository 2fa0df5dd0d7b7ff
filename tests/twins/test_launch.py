# SPDX-License-Identifier: BSD-3-Clause
"""The launcher of a twin, as a job script calls it: what ends well, and what does not whatever SimGrid's
status is."""

import os
import sys

import pytest

from fabric_checks.parsers import placement
from fabric_twins import launch, simulate
from tests import programs
from tests.twins.simulation import TWINS, build, simgrid

pytestmark = simgrid

PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "deadlock") == 0) {
        MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(argv[1], "abort") == 0 && rank == 1) {
        fprintf(stderr, "rank 1: the data are wrong\\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (strcmp(argv[1], "memory") == 0) {
        const size_t size = (size_t)1 << 34;
        memset(malloc(size), 1, size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def run(folder, *program, twin=TWINS / "cbc.yaml", nodes=2, ppn=1, **variables):
    layout = f"--nodes {nodes} --ppn {ppn}"
    command = [sys.executable, "-m", "fabric_twins.launch", *layout.split(), *program]
    env = os.environ | {"FABRIC_TWIN": str(twin)} | variables
    return programs.run(command, cwd=folder, env=env)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    file = tmp_path_factory.mktemp("broken") / "broken.c"
    file.write_text(PROGRAM)
    return str(build(file, file.parent))


def test_ranks_are_where_they_were_asked_to_be(tmp_path):
    """A batch system's name of the real node must not pass for that of the simulated ones."""
    done = run(
        tmp_path,
        str(simulate.program("placement")),
        nodes=3,
        ppn=2,
        SLURMD_NODENAME="real",
    )
    assert done.returncode == 0
    assert done.stderr == ""
    ranks = placement.parse(done.stdout).ranks
    assert [rank.node for rank in ranks] == ["n00", "n00", "n01", "n01", "n02", "n02"]


@pytest.mark.parametrize(
    "how, cause",
    [
        (
            "deadlock",
            "error: the simulated ranks wait for each other (deadlock); look for a message",
        ),
        ("abort", "error: a rank called MPI_Abort: 'rank 1: the data are wrong'"),
    ],
)
def test_failures_with_status_0_of_simgrid_are_found(tmp_path, broken, how, cause):
    done = run(tmp_path, broken, how)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(cause)


def test_out_of_memory(tmp_path, broken):
    script = (
        f"ulimit -v 3000000; exec {sys.executable} -m fabric_twins.launch --nodes 2 "
        f"--ppn 1 {broken} memory"
    )
    env = os.environ | {"FABRIC_TWIN": str(TWINS / "cbc.yaml")}
    done = programs.run(["bash", "-c", script], cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "ran out of memory, because all ranks are in one process" in done.stderr


@pytest.mark.parametrize(
    "given, cause",
    [
        ({"twin": ""}, "FABRIC_TWIN is not set; set it to the description of a twin"),
        (
            {"twin": "/none.yaml"},
            "/none.yaml: cannot be read: No such file or directory",
        ),
    ],
)
def test_a_launch_that_cannot_start_is_one_line(tmp_path, given, cause):
    done = run(tmp_path, "x", **given)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and line.startswith("error: ") and cause in line


def test_the_folder_of_the_job_has_the_files_of_the_simulation(tmp_path, monkeypatch):
    twin = launch.description.load(TWINS / "cbc.yaml")
    line, environment = launch.prepare(twin, 2, 1, ["x"], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cbc-2x1.hosts",
        "cbc.platform",
    ]
    assert environment["FABRIC_TWIN_PLATFORM"] == str(tmp_path / "cbc.platform")
    assert line[-1] == "x"


@pytest.mark.parametrize("text", ["soon", "0"])
def test_a_limit_that_is_no_number_of_seconds(tmp_path, broken, text):
    done = run(tmp_path, broken, "well", FABRIC_TWIN_SECONDS=text)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: FABRIC_TWIN_SECONDS is {text!r}; set it to a number of seconds"
    )


def test_a_simulation_that_takes_too_much_processor_time(tmp_path):
    program = str(simulate.program("rotate"))
    twin = TWINS / "feynman.yaml"
    done = run(
        tmp_path, program, "--size", "1M", twin=twin, nodes=128, FABRIC_TWIN_SECONDS="1"
    )
    assert done.returncode == 1
    assert (
        "error: the simulation is not done after 1 s of processor time; give it fewer nodes"
        in done.stderr
    )
