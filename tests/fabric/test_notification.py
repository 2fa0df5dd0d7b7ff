# SPDX-License-Identifier: BSD-3-Clause
"""The program ``notification``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import fabric, notification
from tests.fabric.builds import MPIS
from tests.fabric.one_program import OneProgram

SHORT = ["--max-seconds-per-point", "0.001", "--warmup", "1", "--max-size", "8"]
SIZES = [0, 1, 2, 4, 8]

#: By which settings a wait sleeps; by the last ones it polls for longer than it sleeps.
SLEEPING = [
    ("mpich", {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}),
    (
        "openmpi",
        {
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
        },
    ),
    ("impi", {"I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "1000"}),
    ("impi", {"I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "10"}),
]


#: An MPI_Wait that polls in a way of its own, and says on standard error how often it slept in the first 20
#: waits.
WAIT = """
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int sleeps, waits;
static void nap(long us)
{
    const struct timespec length = {0, 1000 * us};
    nanosleep(&length, NULL);
}
static void *nap_for_ever(void *nothing)
{
    for (;;) {
        nap(200);
    }
    return nothing;
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const char *const way = getenv("WAY");
    const double begin = PMPI_Wtime();
    int rank = 0, arrived = 0;
    pthread_t other;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (waits == 0 && strcmp(way, "beside") == 0 && pthread_create(&other, NULL, nap_for_ever, NULL) != 0) {
        abort();
    }
    waits++;
    for (;;) {
        PMPI_Test(request, &arrived, status);
        if (arrived) {
            break;
        }
        if (strcmp(way, "yield") == 0) {
            sched_yield();
        } else if (strcmp(way, "sleep") == 0 || (strcmp(way, "late") == 0 && PMPI_Wtime() - begin > 0.04) ||
                   (strcmp(way, "seldom") == 0 && waits % 5 == 0)) {
            nap(1000);
            sleeps++;
        }
    }
    if (rank == 0 && waits == 20) {
        fprintf(stderr, "slept %d times\\n", sleeps);
    }
    return MPI_SUCCESS;
}
"""

#: The clock of a simulator: it has nothing to do with that of the machine.
OTHER_CLOCK = """
#include <mpi.h>
double MPI_Wtime(void)
{
    return 0.5 * PMPI_Wtime();
}
"""


@pytest.fixture(
    scope="module", params=[(mpi, {}) for mpi in MPIS], ids=lambda of: of[0]
)
def program(request, tmp_path_factory):
    """The program built by an MPI, and the settings that it is to be run with."""
    mpi, settings = request.param
    built = OneProgram(mpi, "notification", tmp_path_factory.mktemp(mpi))
    built.settings = settings
    return built


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """Return a function that runs the program with a wait of its own and returns how often that slept,
    too."""
    shimmed = OneProgram(
        "mpich",
        "notification",
        tmp_path_factory.mktemp("waiting"),
        flags=["-pthread"],
        shim=WAIT,
    )

    def run(way):
        done = shimmed.run(2, *SHORT, "--max-size", "0", "--delay", "0.05", WAY=way)
        assert done.returncode == 0, done.stderr
        return notification.parse(done.stdout, [0]), int(
            done.stderr.split("slept ")[1].split()[0]
        )

    return run


def test_every_size_is_measured(program):
    """A wait that polls is never taken for one that sleeps, even if others take the CPU from it."""
    output = notification.parse(
        program.output(2, *SHORT, I_MPI_THREAD_YIELD="0"), SIZES
    )
    assert output.cpu_percent is not None
    assert output.blocking_wait != "offered", output.reason


@pytest.mark.parametrize(
    "program",
    SLEEPING,
    indirect=True,
    ids=lambda of: "-".join([of[0], *of[1].values()]),
)
def test_a_wait_that_sleeps_is_seen(program):
    """Whatever share of the CPU it takes: how long it polls before it sleeps is a matter of the machine."""
    output = notification.parse(
        program.output(
            2, *SHORT, "--max-size", "0", "--delay", "0.05", **program.settings
        ),
        [0],
    )
    assert output.blocking_wait == "offered", output.reason
    for name, value in program.settings.items():
        assert f"{name}={value}" in output.header["wait settings"].split()


@pytest.mark.parametrize(
    "way, verdict",
    [("sleep", "offered"), ("late", "offered"), ("seldom", "unknown")],
)
def test_every_sleep_is_counted(waiting, way, verdict):
    """As the wait itself counts them: between looks, after 40 of 50 ms of polling, or in every fifth wait."""
    output, slept = waiting(way)
    assert output.blocking_wait == verdict, output.reason
    sleeps = fabric.pairs(output.header["sleeps while waiting"])
    assert float(sleeps["wait"]) == pytest.approx(slept, rel=0.1)
    assert float(sleeps["test"]) < 0.1 * slept


@pytest.mark.parametrize("way", ["poll", "yield", "beside"])
def test_what_is_no_sleep_of_the_wait(waiting, way):
    """To poll, to yield, and what another thread of the process does."""
    output, slept = waiting(way)
    assert slept == 0
    assert output.blocking_wait != "offered", output.reason


def test_nothing_is_said_of_the_cpu_in_a_simulation(tmp_path):
    simulated = OneProgram("mpich", "notification", tmp_path, shim=OTHER_CLOCK)
    output = notification.parse(simulated.output(2, *SHORT, "--max-size", "0"), [0])
    assert output.cpu_percent is None
    assert output.header["sleeps while waiting"] == "unknown"
    assert output.blocking_wait == "unknown"
    assert output.reason == "MPI_Wtime does not tell the time of this machine"
