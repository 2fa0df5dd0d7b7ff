# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from ci.minicluster import network
from ci.minicluster import slurm_files as slurm
from tests.cluster.test_spec import make

FOLDER = Path("/somewhere")


def settings(text):
    """Return a configuration file as a dictionary; a line of several settings is known by its first."""
    lines = [line.partition("=") for line in text.splitlines()]
    assert all(equals for _, equals, _ in lines)
    names = [name for name, _, _ in lines if name != "NodeName"]
    assert len(names) == len(set(names)), "a setting is given twice"
    return {name: value for name, _, value in lines}


def test_the_nodes_and_their_partition():
    text = slurm.slurm_conf(make(nodes=2, cores=5), FOLDER)
    nodes = [line for line in text.splitlines() if line.startswith("NodeName=")]
    assert [line.split()[:3] for line in nodes] == [
        ["NodeName=n1", "NodeAddr=10.213.0.2", "CPUs=5"],
        ["NodeName=n2", "NodeAddr=10.213.0.3", "CPUs=5"],
    ]
    assert "CoresPerSocket=5 ThreadsPerCore=1" in nodes[0]
    assert settings(text)["PartitionName"].startswith("compute Nodes=ALL Default=YES")


def test_what_the_nodes_must_not_share_has_their_name_in_it():
    values = settings(slurm.slurm_conf(make(), FOLDER))
    for name in ("SlurmdSpoolDir", "TmpFS", "SlurmdPidFile", "SlurmdLogFile"):
        assert "%n" in values[name]


def test_everything_that_is_written_is_in_the_folder():
    for text in (slurm.slurm_conf(make(), FOLDER), slurm.slurmdbd_conf(make(), FOLDER)):
        paths = {value for value in settings(text).values() if value.startswith("/")}
        assert {path for path in paths if not path.startswith("/somewhere/")} <= {"/bin/true"}


def test_slurm_is_told_of_switches_only_if_they_are_asked_for():
    assert "TopologyPlugin" not in settings(slurm.slurm_conf(make(), FOLDER))
    spec = make(nodes=5, switches=2)
    assert settings(slurm.slurm_conf(spec, FOLDER))["TopologyPlugin"] == "topology/tree"
    assert slurm.topology_conf(spec).splitlines() == [
        "SwitchName=leaf1 Nodes=n1,n2,n3",
        "SwitchName=leaf2 Nodes=n4,n5",
        "SwitchName=spine Switches=leaf1,leaf2",
    ]


@pytest.mark.parametrize("accounting", [True, False])
def test_accounting(accounting):
    values = settings(slurm.slurm_conf(make(accounting=accounting), FOLDER))
    assert values["AccountingStorageType"] == f"accounting_storage/{'slurmdbd' if accounting else 'none'}"
    # The password of slurmdbd's clients is munge's socket.
    assert values.get("AccountingStoragePass") == ("/somewhere/munge/socket" if accounting else None)


def test_the_daemons_run_as_who_starts_them():
    assert settings(slurm.slurm_conf(make(), FOLDER))["SlurmUser"] == "me"
    assert settings(slurm.slurm_conf(make(), FOLDER))["SlurmdUser"] == "me"
    assert settings(slurm.slurmdbd_conf(make(), FOLDER))["SlurmUser"] == "me"


def test_a_dead_node_and_a_stubborn_job_are_noticed_soon():
    values = settings(slurm.slurm_conf(make(), FOLDER))
    assert int(values["SlurmdTimeout"]) <= 20 and values["KillWait"] == "5" and values["JobRequeue"] == "0"


def test_the_hosts_file():
    lines = network.hosts_file(make(nodes=2)).splitlines()
    assert lines == ["127.0.0.1 localhost", "10.213.0.1 head", "10.213.0.2 n1", "10.213.0.3 n2"]
