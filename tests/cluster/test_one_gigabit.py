# SPDX-License-Identifier: BSD-3-Clause
"""Four programs find the rate of links of 1 Gbit/s, with every MPI, started by Slurm.

Each runs with few message sizes, because at this rate all of them take minutes. Where other work leaves a
machine no time for 1 Gbit/s, they have to find half or a quarter of it, if the links are as slow.
"""

import sys

import pytest

from fabric_checks.analysis.curves import bandwidth_MBps
from fabric_checks.core.metrics import powers_of_two
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.parsers import imb, osu, streaming
from fabric_checks.software import installed
from tests.cluster.conftest import MPIS, cluster_of
from tests.cluster.test_minicluster import PAYLOAD, LINK_MBps
from tests.fabric.test_programs import Mpi

pytestmark = pytest.mark.alone

MiB = 1024**2
#: The rate that the shaping allows: the rate of the link less the headers of Ethernet, IP and TCP in full
#: frames.
ALLOWED_MBps = LINK_MBps * PAYLOAD
#: The rates of the links, of 1 Gbit/s: the first that the machine has time for.
SHARES = (1.0, 0.5, 0.25)
#: Of what a link allows: no other program, even one with a burst (1.03), is a tenth above it.
ENOUGH = 0.94
RUNS_ALL = {"mpich", "impi"}  # Open MPI is not of the ABI that IMB's wheel is linked to


class Job:
    """Programs of one MPI, started by Slurm on the cluster."""

    def __init__(self, cluster, mpi, folder):
        self.cluster, self.built = cluster, Mpi(mpi, folder, "streaming", "rotate")
        self.plugin, self.more = MPIS[mpi]

    def __call__(self, nodes, *command):
        line = [f"--mpi={self.plugin}", f"-N{nodes}", f"-n{nodes}", *command]
        names = ("PATH", "LD_LIBRARY_PATH", "I_MPI_ROOT")
        environment = {name: self.built.env[name] for name in names} | self.more
        done = self.cluster.srun(*line, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


#: A window of 16 messages takes 280 ms here: eight of them say what many do.
FEW = (
    "--window",
    "16",
    "--min-samples",
    "8",
    "--warmup",
    "1",
    "--max-seconds-per-point",
    "0.1",
)


def of_streaming(job):
    text = job(
        2, job.built.folder / "streaming", "--min-size", "2M", "--max-size", "2M", *FEW
    )
    return bandwidth_MBps(streaming.parse(text, [2 * MiB]).times_us("streaming"))[
        2 * MiB
    ]


def of_rotate(job):
    # Three rounds in place of seven have twelve pairs: enough for a median. With half of the messages, what
    # passes before the first and behind the last takes a tenth.
    text = job(
        8,
        job.built.folder / "rotate",
        "--messages",
        "8",
        "--tests",
        "2",
        "--shifts",
        "3",
    )
    metrics = evaluation.of_run(evaluation.read(text, "rotate"), LINK_MBps).metrics()
    return next(value for name, value in metrics.items() if "median" in name)


def of_osu(job):
    # The port has its sizes built in: as a function it takes the largest.
    ports = installed.folder("osu-py")
    code = f"import sys; sys.path.insert(0, '{ports}'); import osu_bw; osu_bw.osu_bw(MAX_MSG_SIZE={MiB // 8})"
    rows = osu.parse(
        job(2, sys.executable, "-c", code), "bw", powers_of_two(1, MiB // 8)
    ).rows
    return rows[-1].values["bandwidth_MBps"]


def of_imb(job):
    program = installed.folder("impi") / "bin/IMB-MPI1"
    text = job(2, program, "PingPong", "-npmin", "2", "-msglog", "22:22", "-iter", "30")
    return (
        imb.parse(text, "PingPong", [0, 4 * MiB], 2, program="IMB-MPI1")
        .rows[-1]
        .values["bandwidth_MBps"]
    )


def best(run, job, allowed_MBps):
    """Return the best of at most six runs: a busy machine can only lower what a link allows."""
    values = []
    while not values or (len(values) < 6 and max(values) < ENOUGH * allowed_MBps):
        values.append(run(job))
    return max(values)


PROGRAMS = {
    "IMB PingPong": of_imb,
    "OSU bw": of_osu,
    "streaming": of_streaming,
    "rotate": of_rotate,
}


def measured(cluster, mpi, folder):
    """Return the rates in MB/s that each program finds with an MPI, and what the links allow.

    The links get the first of :data:`SHARES` that the machine has time for.
    """
    job = Job(cluster, mpi, folder)
    programs = {
        name: run
        for name, run in PROGRAMS.items()
        if mpi in RUNS_ALL or run is not of_imb
    }
    for share in SHARES:
        cluster(
            "shape", *(f"n{number}={1000 * share:.0f}mbit" for number in range(1, 9))
        )
        allowed_MBps = share * ALLOWED_MBps
        values = {name: best(run, job, allowed_MBps) for name, run in programs.items()}
        if min(values.values()) >= 0.9 * allowed_MBps:
            break
    return values, allowed_MBps


eight = cluster_of("--nodes", "8", "--rate", "1gbit")


@pytest.mark.parametrize("mpi", MPIS)
def test_every_program_finds_the_rate_of_the_links(eight, mpi, tmp_path, report_table):
    values, allowed_MBps = measured(eight, mpi, tmp_path)
    row = ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    report_table(f"{mpi}: MB/s on links that allow {allowed_MBps:.1f}", [row])
    assert len(values) == (4 if mpi in RUNS_ALL else 3)
    # A link that rests, as that of a ping-pong does half of the time, saves up for a burst: 125 kB of each 4
    # MiB.
    assert all(
        0.9 * allowed_MBps <= value <= 1.1 * allowed_MBps for value in values.values()
    ), (
        values,
        allowed_MBps,
    )
    assert max(values.values()) <= 1.1 * min(values.values()), values
