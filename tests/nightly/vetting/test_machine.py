# SPDX-License-Identifier: BSD-3-Clause
"""The nodes to vet and their switches, from ReFrame's configuration and Slurm."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly.vetting import machine
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.schedulers.flux import output as flux
from tests.nightly.conftest import CONFIGURATION, NODES, configuration


def test_the_nodes_of_the_default_partition(answers):
    found = machine.look("oak")
    assert (found.partition, found.environ, found.nodes) == ("oak:p", "mpich", ("n1", "n3"))
    assert found.away == {"n2": "n2 is drained (cable)"} and not found.lost
    only = machine.look("oak", ["n3"])
    assert only.nodes == ("n3",) and only.size == found.size == 3  # not the one of another partition


@pytest.mark.parametrize("access", [["--partition=fast"], ["-p fast"], ["--exclusive --part fast"]])
def test_the_nodes_of_the_partition_that_the_systems_file_names(answers, access):
    answers[CONFIGURATION] = configuration(access=access)
    assert machine.look(None).nodes == ("n1",)


def test_the_nodes_of_a_reservation_in_maintenance(answers):
    answers[CONFIGURATION] = configuration(access=["--reservation=w"])
    answers["w"] = "ReservationName=w StartTime=x Nodes=n[1-2] State=ACTIVE"
    answers["n[1-2]"] = (
        "NodeName=n1 State=IDLE+MAINT Partitions=all\nNodeName=n2 State=DOWN+MAINT Partitions=all"
    )
    found = machine.look("oak")
    assert found.nodes == ("n1",) and found.away == {"n2": "n2 is down"} and found.lost == {"n2"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {CONFIGURATION: configuration("pbs")},
            "oak:p is run by 'pbs', whose jobs cannot be given their nodes",
        ),
        ({CONFIGURATION: configuration("fabric-pbs", []), "-Bf": "Server: x\n"}, "PBS has no default queue"),
        ({CONFIGURATION: configuration(environs=())}, "no partition has an environment"),
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
    assert found.nodes == ("n1", "n2", "n3") and found.size == 5 and found.scheduler == "fabric-flux"
    assert found.away == {"n4": "n4 is drained (broken cable)", "n5": "n5 is down"} and found.lost == {"n5"}
    assert not found.switches.members and "no files under extras" in found.switches.why  # Slurm is not asked


@pytest.mark.parametrize("access", [[], ["-q main"], ["-l place=excl -q main"]])
def test_the_nodes_of_pbs(answers, access):
    vnode = (
        "{0}\n     state = {1}\n     resources_available.host = {0}\n     resources_available.ncpus = 2\n\n"
    )
    answers |= {
        CONFIGURATION: configuration("fabric-pbs", access),
        "-Bf": "Server: head\n    default_queue = main\n",
        "-a": vnode.format("n1", "free") + vnode.format("n2", "down") + vnode.format("n3", "job-busy"),
        "-Qf": "Queue: main\n    queue_type = Execution\n    enabled = True\n    started = True\n\n",
    }
    found = machine.look("oak")
    assert found.nodes == ("n1", "n3") and found.away == {"n2": "n2 is down"} and found.lost == {"n2"}


def test_a_node_that_is_meant_and_is_not_there_is_refused(answers):
    with pytest.raises(FabricError, match="--only: n9, g1: no such node"):
        machine.look("oak", ["n9", "g1", "n1"])


TOPOLOGY = (
    "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-5] Switches=leaf[1-2]\n"
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-3]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[4-5]\n"
)
HOSTS = ("n1", "n2", "n3", "n4", "n5", "n9")


def test_switches_come_from_slurms_topology(answers):
    answers["topology"] = TOPOLOGY
    found = machine.switches_of(HOSTS, [])
    assert found.members == {"leaf1": ("n1", "n2", "n3"), "leaf2": ("n4", "n5")}
    assert (found.unknown, found.why) == (("n9",), "")


def test_switches_come_from_the_systems_files(answers, tmp_path):
    """Slurm is not asked then."""
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=a Nodes=n1\n")
    answers["topology"] = TOPOLOGY
    found = machine.switches_of(HOSTS, [str(path)])
    assert found.members == {"a": ("n1",)} and len(found.unknown) == 5


@pytest.mark.parametrize(
    ("files", "text", "why"),
    [
        ([], "No topology information available\n", "Slurm knows of no switches"),
        ([], "SwitchName=a Nodes=x1\n", "Slurm's topology has none of these nodes"),
        ([], "SwitchName=a Nodes=n1 Junk\n", "not a line of Slurm's topology"),
        ([], None, "scontrol show topology: no such thing"),
        (["/nowhere/topology.conf"], TOPOLOGY, "/nowhere/topology.conf: No such file"),
    ],
)
def test_without_a_topology_there_is_a_reason(answers, files, text, why):
    answers["topology"] = text
    found = machine.switches_of(HOSTS, files)
    assert why in found.why and not found.members and found.unknown == HOSTS


def test_switches_with_nodes_that_are_not_good_are_listed_the_worst_first():
    bad = {"n2": Word.SLOW, "n3": Word.FAULTY, "n6": Word.SLOW, "n7": Word.SLOW, "n8": Word.SLOW}
    verdicts = Verdicts(dict.fromkeys([f"n{n}" for n in range(1, 13)], Word.GOOD) | bad)
    members = {"s4": ("n1", "n2"), "s1": ("n1", "n2", "n4"), "s0": ("n1", "n3"), "s3": ("n5",)}
    switches = machine.Switches({**members, "s2": ("n6", "n7", "n8", "n9", "n10", "n11"), "s5": ("n3",)})
    assert [row[:3] for row in machine.rows(switches, verdicts)] == [
        *(("s5", 1, 0), ("s0", 2, 1), ("s2", 6, 3), ("s4", 2, 1), ("s1", 3, 2)),
    ]
    assert machine.rows(switches, verdicts)[1][3] == "n3 faulty"
