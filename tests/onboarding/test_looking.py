# SPDX-License-Identifier: BSD-3-Clause
"""The facts about nine sites that differ in scheduler, network and software."""

import pytest

from fabric_checks.onboarding.looking import look
from tests.onboarding.recorded import HOSTS, Recorded, site


def facts(name):
    return look(site(name), HOSTS[name])


def queues(found):
    return {queue.name: (queue.usable, queue.cores, queue.is_default) for queue in found.queues}


def test_slurm_with_infiniband():
    found = facts("slurm_infiniband")
    assert (found.scheduler, found.version, found.cluster, found.switches) == ("slurm", "23.11.8", "ada", 3)
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
    assert found.modules == "lmod" and not found.refused


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


def test_pbs():
    found = facts("pbs")
    assert (found.scheduler, found.version) == ("pbs", "2022.1.3.20230216145131")
    # `route` is no place for jobs, `old` is closed, and the node of `gpu` is not one of workq's.
    assert queues(found) == {"workq": (2, 36, True), "gpu": (1, 48, False)}
    assert [link.MBps for link in found.links] == [pytest.approx(56 * 125 * 64 / 66, abs=0.1)]
    assert [(mpi.family, [suite.version for suite in mpi.suites]) for mpi in found.mpis] == [
        ("openmpi", ["5.9"]), ("intel-oneapi-mpi", []),
    ]  # fmt: skip


def test_torque():
    found = facts("torque")
    assert (found.scheduler, queues(found)) == ("torque", {"batch": (2, 20, True)})


def test_flux():
    found = facts("flux")
    assert (found.scheduler, found.version) == ("flux", "0.67.0")
    assert queues(found) == {"pdebug": (32, 96, False), "pbatch": (992, 96, False)}
    assert [mpi.family for mpi in found.mpis] == ["openmpi", "cray-mpich"]


def test_lsf():
    found = facts("lsf")
    assert (found.scheduler, found.version, found.cluster) == ("lsf", "10.1.0.12", "gale")
    # Two of the hosts take jobs; the queue `maint` takes none.
    assert queues(found) == {"normal": (2, 44, False), "killable": (2, 44, False)}
    assert [mpi.family for mpi in found.mpis] == ["spectrum-mpi"]


def test_no_scheduler():
    found = facts("no_scheduler")
    assert (found.scheduler, found.cores, found.queues) == ("local", 6, ())
    (mpi,) = found.mpis
    assert (mpi.family, mpi.version, mpi.prefix, mpi.module) == ("openmpi", "4.1.4", "/usr", "")


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
