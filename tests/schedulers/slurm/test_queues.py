# SPDX-License-Identifier: BSD-3-Clause
"""What Slurm says, in the forms of several releases."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.slurm import queues as slurm


def test_partitions():
    (one,) = slurm.partitions("all*|up|4|1|2|idle|(null)\n\nall*|up|2|1|2|down*|N/A\n")
    assert (one.name, one.nodes, one.cores, one.is_default, one.takes_jobs, one.gpus) == ("all", 6, 2, True, True, "")
    assert slurm.partitions("") == []
    (one,) = slurm.partitions("old|drain|4|2+|8|idle|gpu:4")
    assert (one.takes_jobs, one.differ, one.cores, one.gpus) == (False, True, 16, "gpu:4")


@pytest.mark.parametrize("line", ["a|up|4", "a|up|x|1|2|idle|n", "a|up|4|1|2|idle|n|m", "sinfo: error: timeout"])
def test_lines_of_another_form(line):
    with pytest.raises(OutputError, match="line 2: not a group of nodes as requested"):
        slurm.partitions(f"b|up|1|1|1|idle|(null)\n{line}\n")


def test_limits():
    queues = slurm.partitions("a|up|9|1|2|idle|(null)\nb|up|9|1|2|idle|(null)\n")
    limited = slurm.with_limits(
        queues, "PartitionName=a MaxNodes=4 State=UP\nPartitionName=b MaxNodes=UNLIMITED\nMaxNodes=1\n"
    )
    assert [queue.most_nodes for queue in limited] == [4, None]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi\n", ["pmi2", "openmpi"]),
        ("MPI plugin types are...\n\tnone\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n", ["pmix"]),
        ("warning\nMPI plugin types are...\n\tnone\n", []),
    ],
)
def test_mpi_types(text, types):
    assert slurm.mpi_types(text) == types


def test_no_list_of_mpi_types():
    with pytest.raises(OutputError, match="not a list of MPI types: 'slurm_load_ctl_conf error'"):
        slurm.mpi_types("slurm_load_ctl_conf error")


def test_settings_topology_and_accounts():
    assert slurm.settings("A         = x = y\nClusterName             = c\nNo value  = \n")["ClusterName"] == "c"
    assert slurm.leaf_switches("SwitchName=a Level=0 Nodes=n\nSwitchName=b Level=1 Nodes=n\n") == 1
    assert slurm.leaf_switches("No topology information available") == 0
    assert slurm.accounts("a\n\nb\na\n") == ["a", "b"]
