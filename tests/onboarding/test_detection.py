# SPDX-License-Identifier: BSD-3-Clause
"""The facts about sites that differ in scheduler, network and software."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding.detection import look
from tests.onboarding.recorded import HOSTS, SITES, Recorded, site

#: Of each: scheduler and cluster; queues with the nodes of a job, cores, whether it is the default, and GPUs.
QUEUES = {
    # A partition that is closed is none; MaxNodes bounds a job; groups of one partition are one.
    "slurm_infiniband": ("slurm", "ada", ["batch 128 128 True", "debug 4 128 False", "himem 8 128 False"]),
    "slurm_slingshot": ("slurm", "brook", ["standard 512 128 True", "interactive 2 128 False"]),
    "slurm_ethernet": ("slurm", "cluster", ["main 11 16 True"]),
    "slurm_gpus": ("slurm", "dune", [
        "gpu 16 48 False gpu:a100:4(S:0-1)", "gpu-h100 8 112 False gpu:h100:8(S:0-1),shard:16",
        "cpu 40 96 True",
    ]),
    # `route` takes no jobs, `old` is closed, and the node of `gpu` is not one of workq's.
    "pbs": ("pbs", "", ["workq 2 36 True", "gpu 1 48 False ngpus=2"]),
    "flux": ("flux", "", ["pdebug 32 96 False gpu:4", "pbatch 992 96 False gpu:4"]),
    "no_scheduler": ("local", "", []),
}  # fmt: skip
#: Of each: the module system; MPIs with their value of `srun --mpi`; suites; the links of the host.
SOFTWARE = {
    # The adapter's Ethernet port and the host's other interface are slower.
    "slurm_infiniband": (
        "lmod",
        ["OpenMPI/4.1.6-GCC-13.2.0 pmix", "impi/2021.11.0-intel-compilers-2024.0.0 pmi2"],
        ["osu 7.2", "imb 2021.3", "lammps 2 Aug 2023"], ["mlx5_0 InfiniBand 25000.0"],
    ),
    "slurm_slingshot": (
        "lmod", ["cray-mpich/8.1.27 cray_shasta"], ["osu 7.3", "lammps 15 Dec 2023"],
        ["hsn0 Slingshot 25000.0", "hsn1 Slingshot 25000.0"],
    ),
    "slurm_ethernet": (
        "envmod", ["mpi/openmpi/5.0.3 pmix_v4"], ["osu 7.4", "imb 2021.7"], ["ens3f0 Ethernet 3125.0"]
    ),
    # FDR's rate is that after coding.
    "pbs": (
        "envmod", ["openmpi/4.1.6 ", "intel-mpi/2021.10.0 "], ["osu 5.9"], ["mlx5_0 InfiniBand 6787.9"]
    ),
    "no_scheduler": ("nomod", ["/usr "], [], ["enp5s0 Ethernet 125.0"]),
    # After OpenHPC's, in the form of Lmod's listings.
    "lmod_hierarchy": (
        "lmod", ["gnu14/14.2 openmpi5/5.0.7 ", "gnu14/14.2 mvapich2/2.3.7 "], ["osu 7.3", "imb 2021.7"], []
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUEUES)
def test_the_queues_of_a_site(name):
    found = look(site(name), HOSTS[name])
    seen = [
        f"{each.name} {each.usable} {each.cores} {each.is_default} {each.gpus}".strip()
        for each in found.queues
    ]
    assert (found.scheduler, found.cluster, seen) == QUEUES[name]


@pytest.mark.parametrize("name", SOFTWARE)
def test_the_software_and_links_of_a_site(name):
    found = look(site(name), HOSTS.get(name, "box"))
    mpis = [f"{' '.join(mpi.modules) or mpi.prefix} {mpi.pmi}" for mpi in found.mpis]
    suites = [f"{each.software} {each.version}" for each in found.suites]
    links = [f"{link.device} {link.kind} {link.MBps}" for link in found.links]
    assert (found.modules, mpis, suites, links) == SOFTWARE[name]


def test_what_is_left_out_and_what_does_not_answer_is_told():
    found = look(site("slurm_infiniband"), "login2")
    assert found.notes == (
        "the partition 'retired' is left out: it is closed, or has no node in service",
    )
    assert found.queues[0].nodes == 316
    assert found.queues[0].out_of_service == 4
    assert found.cores == 32
    found = look(
        Recorded("$ lscpu\nArchitecture: riscv64\n$ mpicc\n$ mpirun --version\n! 1\n"),
        "box",
    )
    assert found.cores is None
    assert "the output of lscpu is not understood: lscpu states no" in found.notes[0]
    assert found.asked["mpirun --version"] == "exit status 1"


@pytest.mark.parametrize(
    "recorded, why",
    [
        ("$ sinfo --version\nslurm 22.05.8\n", "sinfo: exit status 1"),
        (
            "$ sinfo --noheader --format=%P|%a|%D|%X|%Y|%T|%G\na*|up|4|1|1|down*|(null)\n",
            "'a' is left out",
        ),
        ("$ pbsnodes -a\n! 1\ncannot connect\n", "pbsnodes: exit status 1"),
    ],
)
def test_a_scheduler_that_lists_no_nodes_stops_it(recorded, why):
    with pytest.raises(
        FabricError, match=f"no scheduler lists nodes for jobs: .*{why}.*--this-host"
    ):
        look(Recorded(recorded), "box")
    assert look(Recorded(recorded), "box", this_host=True).scheduler == "local"


def test_a_type_of_srun_that_cannot_be_loaded_is_named():
    text = (SITES / "slurm_gpus.txt").read_text()
    broken = "versions available: pmix_v5\nsrun: error: mpi/pmix_v5: x\n"
    found = look(Recorded(text.replace("versions available: pmix_v5\n", broken)), "box")
    assert found.pmis == ("pmi2",)
    assert "srun offers pmix_v5, but cannot load it" in found.notes[0]
