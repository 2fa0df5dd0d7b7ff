# SPDX-License-Identifier: BSD-3-Clause
"""The topology that a check knows: from files that the partition names, or from Slurm."""

import subprocess
from types import SimpleNamespace

import pytest

from fabric_checks.core.layouts import Layout
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.reframe_ext.mixins import LayoutMixin
from fabric_checks.reframe_ext.mixins.topology import ANSWER, ASK, TopologyMixin
from fabric_twins.model.routing import routes
from lab.faults import fabric
from tests.diagnosis.cross_section.model import Fabric, run
from tests.fabric_map import printed

#: As Slurm 22.05 prints it.
SLURM = """SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[0-15]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[16-31]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-31] Switches=leaf[1-2]
"""
HOSTS = tuple(f"n{rank}" for rank in range(32))


class Check(TopologyMixin):
    """A check, as far as the mixin needs it."""

    uses_topology = True
    extras = LayoutMixin.extras

    def __init__(
        self, stage, *, layout="32x1", scheduler="fabric-slurm", answer=None, **extras
    ):
        self.stagedir = str(stage)
        self.current_layout = Layout.of(layout)
        self.prerun_cmds = []
        scheduler = SimpleNamespace(registered_name=scheduler)
        self.current_partition = SimpleNamespace(
            extras=extras, scheduler=scheduler, fullname="s:p"
        )
        if answer is not None:
            (stage / ANSWER).write_text(answer)


def test_a_job_on_slurm_asks_it_unless_a_file_says_more(tmp_path):
    check = Check(tmp_path)
    check.ask_for_topology()
    assert check.prerun_cmds == [ASK]
    for quiet in (
        Check(tmp_path, topology=["a"]),
        Check(tmp_path, layout="1x2"),
        Check(tmp_path, scheduler="local"),
    ):
        quiet.ask_for_topology()
        assert quiet.prerun_cmds == []


def test_what_slurm_says_is_used(tmp_path):
    known, notes = Check(tmp_path, answer=SLURM).known_fabric(HOSTS)
    assert known.switches == ("leaf1", "leaf2") and notes == []
    report = evaluation.of_run(run(Fabric(32, 0.01, seed=1)), known=known)
    assert "within a switch" in str(report.all_findings()) or "between switches" in str(
        report.all_findings()
    )


@pytest.mark.parametrize(
    "answer",
    [None, "", "No topology information available\n", "slurm_load_topo: failed\n"],
)
def test_without_an_answer_nothing_is_known_and_nothing_noted(tmp_path, answer):
    assert Check(tmp_path, answer=answer).known_fabric(HOSTS) == (None, [])


@pytest.mark.parametrize(
    "answer, text",
    [
        (
            SLURM.replace("n[", "other["),
            "lacks 32 of the job's 32 nodes: n0, n1, n2, n3 and 28 more; update it",
        ),
        (
            SLURM.replace("n[0-15]", "n[0-15"),
            "topology.txt: line 1: not a list of 1 to 200000 nodes: 'n[0-15'",
        ),
        (
            SLURM + "\x1b[31mSwitchName=\n",
            "topology.txt: line 4: not a line of Slurm's topology",
        ),
        (
            SLURM.replace("n[0-15]", "n[0-16]"),
            "topology.txt: line 2: 'n16' is listed twice",
        ),
    ],
)
def test_what_is_broken_or_lacks_all_nodes_is_not_used_and_is_one_line(
    tmp_path, answer, text
):
    known, (note,) = Check(tmp_path, answer=answer).known_fabric(HOSTS)
    assert known is None
    assert note["kind"] == "topology" and note["severity"] == "note"
    assert note["text"].startswith("the topology is not used: ")
    assert text in note["text"]
    assert "\n" not in note["text"] and "\x1b" not in note["text"]


def test_a_topology_that_lacks_nodes_is_used_for_the_others_and_says_which_it_lacks(
    tmp_path,
):
    known, (note,) = Check(
        tmp_path, answer=SLURM.replace("n[0-15]", "n[0-12],n15")
    ).known_fabric(HOSTS)
    assert known.switches == ("leaf1", "leaf2") and note["severity"] == "note"
    lacks = "Slurm's topology lacks 2 of the job's 32 nodes: n13, n14; update it"
    assert note["text"] == f"the topology is used for the other nodes: {lacks}"


def test_the_files_of_the_partition_name_cables(tmp_path):
    wiring, known = fabric.wired("fat tree 2", 32, "d-mod-k")
    for name, text in (
        ("net", printed.ibnetdiscover(wiring)),
        ("lfts", printed.dump_lfts(wiring, routes(wiring, fabric.routing("d-mod-k")))),
    ):
        (tmp_path / name).write_text(text)
    check = Check(
        tmp_path,
        topology=[str(tmp_path / "net"), str(tmp_path / "lfts")],
        scheduler="pbs",
        routing="static",
    )
    found, (note,) = check.known_fabric(wiring.hosts)
    assert found.has_routes
    assert note["text"] == "the topology (net) was written on the day of the run"
    assert len(found.cables) == len(known.cables)


@pytest.mark.parametrize(
    "extras, routing",
    [
        ({}, "unknown"),
        ({"fabric": ["mlx5_*"]}, "unknown"),
        ({"fabric": ["hsn*"]}, "adaptive"),
        ({"fabric": ["eth0", "eth1"]}, "hashed"),
        ({"fabric": ["hsn*", "eth0"]}, "unknown"),
        ({"fabric": ["hsn*"], "routing": "static"}, "static"),
    ],
)
def test_routing_is_as_given_or_as_the_ports_suggest(tmp_path, extras, routing):
    known, _ = Check(tmp_path, answer=SLURM, **extras).known_fabric(HOSTS)
    assert known.routing == routing


def test_the_program_learns_the_switches_unless_routing_is_static(tmp_path):
    assert Check(tmp_path).group_options() == ["--groups", "slurm"]
    assert Check(tmp_path, routing="static").group_options() == []
    (tmp_path / "topology.conf").write_text(SLURM)
    named = {"topology": [str(tmp_path / "topology.conf")], "scheduler": "pbs"}
    assert Check(tmp_path, **named).group_options() == ["--groups", "groups.txt"]
    assert (tmp_path / "groups.txt").read_text().splitlines() == [
        f"n{rank} {rank // 16}" for rank in range(32)
    ]
    assert Check(tmp_path, **named, routing="static").group_options() == []
    assert Check(tmp_path, topology=["missing"]).group_options() == [], (
        "known_fabric says why"
    )


@pytest.mark.parametrize(
    "fields, asked",
    [
        ("Topology=topo-block TRES=cpu=4", "topo-block"),
        ("Topology=(null) TRES=cpu=4", ""),
        ("TRES=cpu=4", ""),
    ],
)
def test_slurm_is_asked_for_the_topology_of_the_partition(tmp_path, fields, asked):
    """As 26.05 prints partitions, of which each may have a topology of its own, and as 22.05 does."""
    stand_in = tmp_path / "scontrol"
    stand_in.write_text(
        f'#!/bin/sh\ncase "$*" in\n"--oneliner show partition blk") echo "PartitionName=blk {fields}" ;;\n'
        '"show topology"*) echo "asked for: ${3:-}" ;;\nesac\n'
    )
    stand_in.chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_PARTITION": "blk"}
    subprocess.run(["bash", "-c", ASK], cwd=tmp_path, env=path, check=True)
    assert (tmp_path / ANSWER).read_text() == f"asked for: {asked}\n"
