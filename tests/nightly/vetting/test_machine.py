# SPDX-License-Identifier: BSD-3-Clause
"""The nodes to vet and their switches, from ReFrame's configuration and Slurm."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly.vetting import machine
from fabric_checks.schedulers.flux import output as flux
from tests.nightly.conftest import CONFIGURATION, NODES, configuration


def test_the_nodes_of_the_default_partition(answers):
    found = machine.look("oak")
    assert (found.partition, found.environ, found.nodes) == ("oak:p", "mpich", ("n1",))
    assert (
        found.away["n2"] == "n2 is drained (cable)"
        and "other jobs have it" in found.away["n3"]
    )
    only = machine.look("oak", ["n1"])
    assert (
        only.nodes == ("n1",) and only.size == found.size == 3
    )  # not the one of another partition


@pytest.mark.parametrize(
    "access", [["--partition=fast"], ["-p fast"], ["--exclusive --part fast"]]
)
def test_the_nodes_of_the_partition_that_the_systems_file_names(answers, access):
    answers[CONFIGURATION] = configuration(access=access)
    assert machine.look(None).nodes == ("n1",)


@pytest.mark.parametrize(
    "changes, says",
    [
        (
            {CONFIGURATION: configuration("pbs")},
            "oak:p is run by 'pbs', whose jobs cannot be given their nodes",
        ),
        (
            {CONFIGURATION: configuration("fabric-pbs", []), "-Bf": "Server: x\n"},
            "PBS has no default queue",
        ),
        (
            {CONFIGURATION: configuration(environs=())},
            "no partition has an environment",
        ),
        ({CONFIGURATION: None}, "show-config=systems/0: no such thing"),
        ({NODES: None}, "scontrol -a -o show node: no such thing"),
        ({NODES: OSError(2, "No such file")}, "scontrol: No such file"),
        ({"%P": "gpu\n"}, "Slurm has no default partition"),
    ],
)
def test_an_unsuitable_system_is_refused_in_a_line(answers, changes, says):
    answers |= changes
    with pytest.raises(FabricError, match=says):
        machine.look("oak")


def test_the_nodes_of_flux(answers):
    answers |= {
        CONFIGURATION: configuration("fabric-flux", ["--queue=debug"]),
        f"--format={flux.NODES_FORMAT}": (
            "avail|n[1-3]|online|\ndrained|n4|online|broken cable\navail*|n5|offline|\n"
        ),
        "--format={nodelist}": "n2\n",
        "topology": TOPOLOGY,
    }
    found = machine.look("oak")
    assert (
        found.nodes == ("n1", "n3")
        and found.size == 5
        and found.scheduler == "fabric-flux"
    )
    assert (found.away["n4"], found.away["n5"]) == (
        "n4 is drained (broken cable)",
        "n5 is down",
    )
    assert set(found.away) == {"n2", "n4", "n5"} and found.lost == {"n5"}
    assert not found.switches  # Slurm is not asked


@pytest.mark.parametrize("access", [[], ["-q main"], ["-l place=excl -q main"]])
def test_the_nodes_of_pbs(answers, access):
    vnode = (
        "{0}\n     state = {1}\n     resources_available.host = {0}\n"
        "     resources_available.ncpus = 2\n\n"
    )
    answers |= {
        CONFIGURATION: configuration("fabric-pbs", access),
        "-Bf": "Server: head\n    default_queue = main\n",
        "-a": vnode.format("n1", "free")
        + vnode.format("n2", "down")
        + vnode.format("n3", "job-busy"),
        "-Qf": "Queue: main\n    queue_type = Execution\n    enabled = True\n    started = True\n\n",
    }
    found = machine.look("oak")
    assert (
        found.nodes == ("n1",)
        and set(found.away) == {"n2", "n3"}
        and found.lost == {"n2"}
    )


def test_a_node_that_is_meant_and_is_not_there_is_refused(answers):
    with pytest.raises(FabricError, match="--only: n9, g1: no such node"):
        machine.look("oak", ["n9", "g1", "n1"])


TOPOLOGY = (
    "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-5] Switches=leaf[1-2]\n"
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-3]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[4-5]\n"
)
HOSTS = ("n1", "n2", "n3", "n4", "n5", "n9")
LEAVES = dict(zip(HOSTS, ["leaf1"] * 3 + ["leaf2"] * 2, strict=False))


@pytest.mark.parametrize(
    "text, asks_slurm, at",
    [(TOPOLOGY, True, LEAVES), (TOPOLOGY, False, {}), ("No topology information available\n", True, {}),
     ("SwitchName=a Nodes=x1\n", True, {}), (None, True, {})],
)  # fmt: skip
def test_switches_come_from_slurms_topology(answers, text, asks_slurm, at):
    answers["topology"] = text
    assert machine.switches_of(HOSTS, [], asks_slurm=asks_slurm) == at


def test_switches_come_from_the_systems_files(answers, tmp_path):
    """Slurm is not asked then."""
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=a Nodes=n1\n")
    answers["topology"] = TOPOLOGY
    assert machine.switches_of(HOSTS, [str(path)]) == {"n1": "a"}
    with pytest.raises(FileNotFoundError, match="/nowhere/topology.conf"):
        machine.switches_of(HOSTS, ["/nowhere/topology.conf"])
