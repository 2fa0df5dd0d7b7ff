# SPDX-License-Identifier: BSD-3-Clause
"""Which node is at which switch, and what is bad at each."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly.vetting import machine
from fabric_checks.nightly.vetting.planning import Verdicts, Word

SLURM = (
    "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-5] Switches=leaf[1-2]\n"
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-3]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[4-5]\n"
)
NODES = ("n1", "n2", "n3", "n4", "n5", "n9")


def test_switches_come_from_slurms_topology():
    found = machine.switches_of(NODES, [], lambda: SLURM)
    assert found.members == {"leaf1": ("n1", "n2", "n3"), "leaf2": ("n4", "n5")}
    assert (found.unknown, found.why) == (("n9",), "")


def test_switches_come_from_the_systems_files(tmp_path):
    """Slurm is not asked then."""
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=a Nodes=n1\n")
    found = machine.switches_of(NODES, [str(path)], lambda: pytest.fail("it was asked"))
    assert found.members == {"a": ("n1",)} and len(found.unknown) == 5


def refuse():
    raise FabricError("scontrol: it does not answer")


@pytest.mark.parametrize(
    ("files", "ask", "why"),
    [
        ([], lambda: "No topology information available\n", "Slurm knows of no switches"),
        ([], lambda: "SwitchName=a Nodes=x1\n", "Slurm's topology has none of these nodes"),
        ([], lambda: "SwitchName=a Nodes=n1 Junk\n", "not a line of Slurm's topology"),
        ([], refuse, "scontrol: it does not answer"),
        (["/nowhere/topology.conf"], refuse, "/nowhere/topology.conf: No such file"),
    ],
)
def test_without_a_topology_there_is_a_reason(files, ask, why):
    found = machine.switches_of(NODES, files, ask)
    assert why in found.why and not found.members and found.unknown == NODES


def test_the_worst_switch_comes_first_and_good_ones_are_left_out():
    known = machine.Switches({"a": ("n1", "n2", "n3"), "b": ("n4", "n5"), "c": ("n6",)})
    words = dict.fromkeys(("n1", "n2", "n6"), Word.GOOD)
    verdicts = Verdicts(words | {"n3": Word.NOT_SEEN, "n4": Word.FAULTY, "n5": Word.SLOW})
    assert machine.rows(known, verdicts) == [("b", 2, 0, "n4 faulty, n5 slow"), ("a", 3, 2, "n3 not seen")]
