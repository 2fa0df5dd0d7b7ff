# SPDX-License-Identifier: BSD-3-Clause
"""Configuration files of Slurm; a cluster that is up shows the rest."""

from pathlib import Path

import pytest

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


def test_what_the_nodes_must_not_share_has_their_name_in_it():
    values = settings(slurm.slurm_conf(make(), FOLDER))
    for name in ("SlurmdSpoolDir", "TmpFS", "SlurmdPidFile", "SlurmdLogFile"):
        assert "%n" in values[name]


def test_everything_that_is_written_is_in_the_folder():
    for text in (slurm.slurm_conf(make(), FOLDER), slurm.slurmdbd_conf(make(), FOLDER)):
        paths = {value for value in settings(text).values() if value.startswith("/")}
        assert {path for path in paths if not path.startswith("/somewhere/")} <= {
            "/bin/true"
        }


def test_slurm_is_told_of_switches_only_if_they_are_asked_for():
    assert "TopologyPlugin" not in settings(slurm.slurm_conf(make(), FOLDER))
    spec = make(nodes=5, switches=2)
    assert settings(slurm.slurm_conf(spec, FOLDER))["TopologyPlugin"] == "topology/tree"
    assert slurm.topology_conf(spec).splitlines() == [
        "SwitchName=leaf1 Nodes=n1,n2,n3",
        "SwitchName=leaf2 Nodes=n4,n5",
        "SwitchName=spine Switches=leaf1,leaf2",
    ]


@pytest.mark.parametrize(
    "version, expected",
    [
        ("slurm-wlm 22.05.8", ""),
        ("slurm-wlm 23.02.0", "CgroupPlugin=disabled\n"),
        ("slurm 26.05.5", "CgroupPlugin=disabled\n"),
        ("of no number", ""),
    ],
)
def test_no_host_uses_cgroups_where_slurm_can_do_without(version, expected):
    assert slurm.cgroup_conf(version) == expected
