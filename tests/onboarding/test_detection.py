# SPDX-License-Identifier: BSD-3-Clause
"""The facts about eight sites that differ in scheduler, network and software."""

import re

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding import detection
from fabric_checks.onboarding.detection import look
from fabric_checks.onboarding.facts import Mpi
from tests.onboarding.recorded import HOSTS, SITES, Recorded, site


def facts(name):
    return look(site(name), HOSTS[name])


def of_modules(*lines):
    """Return a machine whose listing of modules begins with some lines."""
    return Recorded("\n".join(["% MODULESHOME=/m", "$ module -t avail", *lines, ""]))


def queues(found):
    return {queue.name: (queue.usable, queue.cores, queue.is_default) for queue in found.queues}


def test_slurm_with_infiniband():
    found = facts("slurm_infiniband")
    assert (found.scheduler, found.cluster, found.switches) == ("slurm", "ada", 3)
    # A partition that is closed is none; MaxNodes bounds a job; groups of one partition are one.
    assert queues(found) == {"batch": (128, 128, True), "debug": (4, 128, False), "himem": (8, 128, False)}
    assert (found.queues[0].nodes, found.queues[0].out_of_service, found.cores) == (316, 4, 32)
    assert found.accounts == ("hpcops", "chem-21") and found.qos == ("normal", "long")
    # The adapter's Ethernet port and the host's other interface are slower.
    assert [(link.device, link.kind, link.MBps) for link in found.links] == [("mlx5_0", "InfiniBand", 25000)]
    openmpi, intel = found.mpis
    assert (openmpi.module, openmpi.pmi) == ("OpenMPI/4.1.6-GCC-13.2.0", "pmix")
    assert (intel.module, intel.pmi) == ("impi/2021.11.0-intel-compilers-2024.0.0", "pmi2")
    assert {suite.suite: suite.version for suite in openmpi.suites} == {"osu": "7.2"}
    assert openmpi.suites[0].prefix == "/apps/software/OSU-Micro-Benchmarks/7.2-gompi-2023b"
    assert [suite.module for suite in intel.suites] == ["IMB/2021.3-iimpi-2022b"]
    # What is of another toolchain cannot be loaded with it.
    assert found.notes == (
        "the partition 'retired' is left out: it is closed, or has no node in service",
        "not taken, as it belongs to another toolchain and cannot share a job with the others: "
        "IMB/2021.3-gompi-2022b, LAMMPS/2Aug2023_update2-foss-2023a-kokkos",
        "not taken, as another one of it is: OpenMPI/4.1.4-GCC-12.2.0, OpenMPI/4.1.5-GCC-12.3.0, "
        "OSU-Micro-Benchmarks/6.2-gompi-2022b, impi/2021.9.0-intel-compilers-2023.1.0",
    )
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
    assert (
        found.asked["sacctmgr --noheader --parsable2 show associations user=kim format=account,qos"]
        == "exit status 1"
    )


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
        (
            "flux",
            "flux",
            "",
            {"pdebug": (32, 96, False), "pbatch": (992, 96, False)},
            ["cray-mpich", "openmpi"],
        ),
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
    assert (
        Mpi("openmpi", "4.1.5", "a", "mpicc").name
        == Mpi("openmpi", "5.0.8", "b", "mpicc").name
        == "openmpi-site"
    )


def test_modules_of_a_hierarchy_come_with_those_before_them():
    """After OpenHPC's, in the form of Lmod's listings."""
    found = look(site("lmod_hierarchy"), "box")
    openmpi, mvapich2 = found.mpis
    assert openmpi.modules == ["gnu14/14.2", "openmpi5/5.0.7", "omb/7.3"]
    assert [suite.prefix for suite in openmpi.suites] == ["/opt/omb"]
    assert mvapich2.modules == ["gnu14/14.2", "mvapich2/2.3.7"]
    assert any(
        "imb/2021.7" in note and "needs intel/2024" in note and "not gnu14/14.2 openmpi5" in note
        for note in found.notes
    )


def test_a_suite_belongs_to_the_mpi_of_its_folder():
    """By the titles in a listing, as OpenHPC has them."""
    deps = "/opt/pub/moduledeps/gnu14"
    listing = [f"{deps}-openmpi5:", "omb/7.3", f"{deps}:", "mvapich2/2.3.7", "openmpi5/5.0.7"]
    found = look(of_modules(*listing), "box")
    assert {mpi.module: [suite.module for suite in mpi.suites] for mpi in found.mpis} == {
        "openmpi5/5.0.7": ["omb/7.3"], "mvapich2/2.3.7": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "owner"), [("", ""), ("prereq mpich/4.3", "mpich"), ('depends_on("openmpi/5.0.7")', "openmpi"),
                         ("prepend-path PATH /apps/mpich-4.3/imb/bin", "mpich")],
)  # fmt: skip
def test_a_suite_beside_two_mpis_is_taken_or_named(shown, owner):
    found = look(
        of_modules("openmpi/5.0.7", "mpich/4.3", "imb/2021.7", "$ module show imb/2021.7", shown), "box"
    )
    assert [mpi.family for mpi in found.mpis if mpi.suites] == ([owner] if owner else [])
    unknown = "not taken, as nothing shows that it was built with openmpi/5.0.7 or mpich/4.3: imb/2021.7"
    assert (unknown in found.notes) is (owner == "")


def test_modules_that_look_like_an_mpi_or_a_suite_are_named():
    listing = [
        "openmpi/5.0.7",
        "psmpi/5.9",
        "mpt/2.26",
        "lammps",
        "hmmer-mpi/3",
        "mpi4py/4",
        "fftw/openmpi/3",
    ]
    notes = look(of_modules(*listing), "box").notes
    assert "not taken, though it looks like an MPI or a suite: psmpi/5.9, mpt/2.26" in notes
    assert "not taken, as its name has no version: lammps" in notes
    assert not re.search("hmmer|mpi4py|fftw", " ".join(notes))


def test_lammps_without_its_inputs_is_not_taken():
    lines = ["openmpi/5", "lammps/2023", "$ module show lammps/2023", "prepend-path PATH /usr/bin"]
    found = look(of_modules(*lines), "box")
    (note,) = (note for note in found.notes if "lammps/2023" in note)
    assert found.mpis[0].suites == () and "without /usr/share/lammps/bench/in.lj" in note
    (mpi,) = look(of_modules(*lines, "& /usr/share/lammps/bench/in.lj", "units lj"), "box").mpis
    assert [suite.prefix for suite in mpi.suites] == ["/usr"]


@pytest.mark.parametrize(("reframe", "system"), [("4.10.4", "envmod"), ("4.9.3", "tmod4"), ("5", "envmod")])
def test_environment_modules_have_the_name_that_reframe_knows(reframe, system, monkeypatch):
    monkeypatch.setattr(detection, "version", lambda _: reframe)
    assert look(of_modules(), "box").modules == system


@pytest.mark.parametrize(
    ("recorded", "why"),
    [
        ("$ sinfo --version\nslurm 22.05.8\n", "sinfo: exit status 1"),
        ("$ sinfo --noheader --format=%P|%a|%D|%X|%Y|%T|%G\na*|up|4|1|1|down*|(null)\n", "'a' is left out"),
        ("$ pbsnodes -a\n! 1\ncannot connect\n", "pbsnodes: exit status 1"),
    ],
)
def test_a_scheduler_that_lists_no_nodes_stops_it(recorded, why):
    with pytest.raises(FabricError, match=f"no scheduler lists nodes for jobs: .*{why}.*--this-host"):
        look(Recorded(recorded), "box")
    assert look(Recorded(recorded), "box", this_host=True).scheduler == "local"


def test_a_type_of_srun_that_cannot_be_loaded_is_named():
    text = (SITES / "slurm_gpus.txt").read_text()
    broken = text.replace(
        "versions available: pmix_v5\n", "versions available: pmix_v5\nsrun: error: mpi/pmix_v5: x\n"
    )
    found = look(Recorded(broken), "box")
    assert (
        found.pmis == ("pmi2",)
        and "srun offers pmix_v5, but cannot load it, so it is not used" in found.notes
    )


def test_an_answer_that_is_not_understood_is_noted_and_left_out():
    found = look(Recorded("$ lscpu\nArchitecture: riscv64\n"), "box")
    assert found.cores is None and found.notes[0].startswith(
        "the output of lscpu is not understood: lscpu states no 'Core(s) per"
    )
