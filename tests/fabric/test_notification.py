# SPDX-License-Identifier: BSD-3-Clause
"""The program ``notification``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import notification
from tests.fabric.one_program import OneProgram
from tests.fabric.test_programs import MPIS

SHORT = ["--max-seconds-per-point", "0.001", "--warmup", "1", "--max-size", "8"]
SIZES = [0, 1, 2, 4, 8]

#: By which settings a wait sleeps instead of polling.
SLEEPING = {
    "mpich": {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep"},
    "impi": {"I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "200"},
}

#: The clock of a simulator: it has nothing to do with that of the machine.
OTHER_CLOCK = """
#include <mpi.h>
double MPI_Wtime(void)
{
    return 0.5 * PMPI_Wtime();
}
"""


@pytest.fixture(scope="module", params=MPIS)
def program(request, tmp_path_factory):
    return OneProgram(request.param, "notification", tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The program built by one MPI, for what no MPI changes."""
    return OneProgram("mpich", "notification", tmp_path_factory.mktemp("quick"))


def test_every_size_is_measured(program):
    """A wait that polls is never taken for one that gives the CPU away, even if others take the CPU from it."""
    output = notification.parse(program.output(2, *SHORT, I_MPI_THREAD_YIELD="0"), SIZES)
    assert output.cpu_percent is not None
    assert output.blocking_wait in ("absent", "unknown"), output.reason
    assert output.blocking_wait == "absent" or output.cpu_percent["wait"] <= 50


def test_a_wait_that_gives_the_cpu_away_is_seen(program):
    settings = SLEEPING[program.mpi]
    output = notification.parse(program.output(2, *SHORT, "--max-size", "0", **settings), [0])
    assert output.blocking_wait == "offered", output.reason
    assert output.cpu_percent["wait"] < 50
    for name, value in settings.items():
        assert f"{name}={value}" in output.header["wait settings"].split()


def test_nothing_is_said_of_the_cpu_in_a_simulation(tmp_path):
    simulated = OneProgram("mpich", "notification", tmp_path, shim=OTHER_CLOCK)
    output = notification.parse(simulated.output(2, *SHORT, "--max-size", "0"), [0])
    assert output.cpu_percent is None
    assert output.blocking_wait == "unknown"
    assert output.reason == "MPI_Wtime does not tell the time of this machine"


@pytest.mark.parametrize("ranks", [1, 3])
def test_wrong_number_of_ranks(program, ranks):
    program.refuses(f"needs exactly 2 ranks but was started with {ranks}", ranks)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "1000000M"], "--max-size"),
        (["--delay", "0"], "--delay"),
        (["--waits", "0"], "--waits"),
        (["--min-size", "8", "--max-size", "4"], "--min-size 8 is above --max-size 4"),
        (["--min-size", "5", "--max-size", "7"], "no size from --min-size 5 to --max-size 7"),
    ],
)
def test_bad_arguments(quick, arguments, message):
    quick.refuses(message, 2, *arguments)
