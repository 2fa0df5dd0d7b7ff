# SPDX-License-Identifier: BSD-3-Clause
"""The facts about eight sites that differ in scheduler, network and software."""

import pytest

from fabric_checks.onboarding.facts import Mpi
from fabric_checks.onboarding.looking import look
from tests.onboarding.recorded import HOSTS, Recorded, site


def facts(name):
    return look(site(name), HOSTS[name])


def queues(found):
    return {queue.name: (queue.usable, queue.cores, queue.is_default) for queue in found.queues}


def test_slurm_with_infiniband():
    found = facts("slurm_infiniband")
    assert (found.scheduler, found.cluster, found.switches) == ("slurm", "ada", 3)
    # A partition that is closed is none; MaxNodes bounds a job; groups of one partition are one.
    assert queues(found) == {"batch": (128, 128, True), "debug": (4, 128, False), "himem": (8, 128, False)}
    assert (found.queues[0].nodes, found.queues[0].out_of_service, found.cores) == (316, 4, 32)
    assert found.accounts == ("hpcops", "chem-21")
    # The adapter's Ethernet port and the host's other interface are slower.
    assert [(link.device, link.kind, link.MBps) for link in found.links] == [("mlx5_0", "InfiniBand", 25000)]
    openmpi, intel = found.mpis
    assert (openmpi.module, openmpi.pmi) == ("OpenMPI/4.1.6-GCC-13.2.0", "pmix")
    assert (intel.module, intel.pmi) == ("impi/2021.11.0-intel-compilers-2024.0.0", "pmi2")
    assert {suite.suite: suite.version for suite in openmpi.suites} == {"osu": "7.2"}
    assert openmpi.suites[0].prefix == "/apps/software/OSU-Micro-Benchmarks/7.2-gompi-2023b"
    assert [suite.module for suite in intel.suites] == ["IMB/2021.3-iimpi-2022b"]
    # What is of another toolchain cannot be loaded with it.
    assert [note.split()[0] for note in found.notes] == [
        "IMB/2021.3-gompi-2022b", "LAMMPS/2Aug2023_update2-foss-2023a-kokkos",
    ]  # fmt: skip
    assert found.modules == "lmod"


def test_slurm_with_slingshot():
    found = facts("slurm_slingshot")
    assert queues(found) == {"standard": (512, 128, True), "interactive": (2, 128, False)}
    assert [(link.device, link.kind, link.MBps) for link in found.links] == [
        ("hsn0", "Slingshot", 25000), ("hsn1", "Slingshot", 25000),
    ]  # fmt: skip
    (cray,) = found.mpis
    assert (cray.module, cray.cc, cray.pmi) == ("cray-mpich/8.1.27", "cc", "cray_shasta")
    # One module is there, and does not say where.
    assert {suite.suite: suite.prefix for suite in cray.suites} == {
        "osu": None, "lammps": "/apps/y07/shared/apps/lammps/15_Dec_2023",
    }  # fmt: skip


def test_slurm_with_ethernet():
    found = facts("slurm_ethernet")
    assert queues(found) == {"main": (11, 16, True)} and found.accounts == ()
    assert [(link.device, link.kind, link.MBps) for link in found.links] == [("ens3f0", "Ethernet", 3125)]
    (openmpi,) = found.mpis
    assert (openmpi.module, openmpi.pmi, found.modules) == ("mpi/openmpi/5.0.3", "pmix_v4", "envmod")
    assert [suite.prefix for suite in openmpi.suites] == ["/cluster/opt/osu-7.4", "/cluster/opt/imb-2021.7"]
    assert found.asked["sacctmgr --noheader --parsable2 show associations user=kim format=account"] == "exit status 1"


def test_slurm_with_gpus():
    found = facts("slurm_gpus")
    assert queues(found) == {"gpu": (16, 48, False), "gpu-h100": (8, 112, False), "cpu": (40, 96, True)}
    gpu, h100, cpu = found.queues
    assert (gpu.gpus, h100.gpus, cpu.gpus) == ("gpu:a100:4(S:0-1)", "gpu:h100:8(S:0-1),shard:16", "")
    assert gpu.differ and not h100.differ
    assert [link.device for link in found.links] == ["mlx5_0", "mlx5_3"] and found.mpis == ()


@pytest.mark.parametrize(
    ("name", "scheduler", "cluster", "expected", "mpis"),
    [
        # `route` takes no jobs, `old` is closed, and the node of `gpu` is not one of workq's.
        ("pbs", "pbs", "", {"workq": (2, 36, True), "gpu": (1, 48, False)}, ["openmpi", "intel-oneapi-mpi"]),
        ("flux", "flux", "", {"pdebug": (32, 96, False), "pbatch": (992, 96, False)}, ["openmpi", "cray-mpich"]),
        # Two of the hosts take jobs; the queue `maint` takes none.
        ("lsf", "lsf", "gale", {"normal": (2, 44, False), "killable": (2, 44, False)}, ["spectrum-mpi"]),
        ("no_scheduler", "local", "", {}, ["openmpi"]),
    ],
)
def test_other_schedulers_and_none(name, scheduler, cluster, expected, mpis):
    found = facts(name)
    assert (found.scheduler, found.cluster, queues(found)) == (scheduler, cluster, expected)
    assert [mpi.family for mpi in found.mpis] == mpis


def test_the_rate_of_fdr_is_that_after_coding():
    assert [link.MBps for link in facts("pbs").links] == [pytest.approx(56 * 125 * 64 / 66, abs=0.1)]


def test_an_mpi_on_path():
    (mpi,) = facts("no_scheduler").mpis
    assert (mpi.family, mpi.version, mpi.prefix, mpi.module) == ("openmpi", "4.1.4", "/usr", "")
    assert facts("no_scheduler").cores == 6


def test_an_environment_keeps_its_name_when_its_mpi_is_updated():
    assert Mpi("openmpi", "4.1.5", "a", "mpicc").name == Mpi("openmpi", "5.0.8", "b", "mpicc").name == "openmpi-site"


def test_modules_that_show_behind_a_compiler_only():
    core, everything = "/core:\ngcc/12.2\n", "gcc/12.2\nopenmpi/\nopenmpi/4.1.5\n"
    found = look(Recorded(f"% LMOD_CMD=/lmod\n$ module -t avail\n{core}$ module -t spider\n{everything}"), "box")
    assert [mpi.module for mpi in found.mpis] == ["openmpi/4.1.5"]
    assert found.notes == ("MPIs appear only in `module spider`: their compiler's module may have to be loaded first",)


def test_commands_without_a_cluster():
    found = look(Recorded("$ sinfo --version\nslurm 22.05.8\n$ lscpu\nCore(s) per socket: 4\nSocket(s): 1\n"), "box")
    assert found.scheduler == "local" and found.notes == ("sinfo is there, but lists no nodes that take jobs",)


def test_an_answer_that_is_not_understood_is_noted_and_left_out():
    found = look(Recorded("$ lscpu\nArchitecture: riscv64\n"), "box")
    assert found.cores is None and found.notes[0].startswith(
        "the output of lscpu is not understood: lscpu states no 'Core(s) per"
    )
