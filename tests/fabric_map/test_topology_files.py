# SPDX-License-Identifier: BSD-3-Clause
"""Maps from the output of tools: the routes are those of the fabric, and torn output is refused."""

import os

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.fabric_map import names, topology_files
from fabric_checks.fabric_map.model import UNKNOWN, arcs_of
from fabric_twins.model.routing import routes
from lab.faults import fabric
from tests.breakages import refused
from tests.fabric_map import printed

DIRECT = 'Ca\t1 "H-1"\t# "n1 mlx5_0"\n[1]\t"H-2"[1]\t# "n2"\nCa\t1 "H-2"\t# "n2"\n[1]\t"H-1"[1]\t# "n1"\n'
#: As OpenSM logs a sweep (osm_ucast_mgr.c), and with NVIDIA's adaptive engines and its older manager beside
#: others.
SWEEP = (
    "Jun 21 09:37:44 283581 [577FE6C0] 0x02 -> osm_ucast_mgr_process: {} tables "
    "configured on all switches\n"
)
MANAGER = "AR Manager - Configuration cycle (number 1) completed successfully\n"
SHAPES = [
    ("fat tree 2", 16, "d-mod-k"),
    ("fat tree 3", 32, "random"),
    ("dragonfly", 32, "d-mod-k"),
]


def drawn(shape, nodes, table):
    """Return wiring, routes and the map of a simulated fabric."""
    wiring, known = fabric.wired(shape, nodes, table)
    return wiring, routes(wiring, fabric.routing(table)), known


def cables_between(known, sender, receiver):
    """Return the ends of the arcs between two hosts, by name."""
    arcs = arcs_of(known, np.array([sender]), np.array([receiver]))[0]
    assert arcs[0] != UNKNOWN
    return [
        (known.switches[known.starts[arc]], known.switches[known.ends[arc]])
        for arc in arcs
        if arc >= 0
    ]


@pytest.mark.parametrize("shape, nodes, table", SHAPES)
def test_the_routes_are_those_of_the_printed_fabric(shape, nodes, table):
    wiring, ways, twin = drawn(shape, nodes, table)
    texts = [
        ("net", printed.ibnetdiscover(wiring)),
        ("lfts", printed.dump_lfts(wiring, ways)),
    ]
    known = topology_files.of_texts([*texts, ("log", SWEEP.format("ftree"))])
    position, missing = names.positions(wiring.hosts, known.hosts)
    assert not missing and known.has_routes
    for sender in range(0, nodes, 3):
        for receiver in range(1, nodes, 5):
            if sender != receiver:
                expected = cables_between(twin, sender, receiver)
                assert (
                    cables_between(
                        known, int(position[sender]), int(position[receiver])
                    )
                    == expected
                )


def test_without_tables_switches_are_known_and_routes_are_not():
    wiring, _, _ = drawn(*SHAPES[0])
    known = topology_files.of_texts([("net", printed.ibnetdiscover(wiring))])
    assert not known.has_routes
    at = {
        names.plain(host): known.switches[known.at[number]]
        for number, host in enumerate(known.hosts)
    }
    assert at == {
        host: wiring.switches[at]
        for host, at in zip(wiring.hosts, wiring.at, strict=True)
    }
    assert len(known.cables) == len(wiring.cables)


@pytest.mark.parametrize(
    "log, routing",
    [
        (SWEEP.format("ftree"), "static"),
        (SWEEP.format("null (min-hop)"), "static"),
        (SWEEP.format("ar_updn"), "adaptive"),
        (SWEEP.format("ar_ftree") + SWEEP.format("updn"), "static"),
        (MANAGER + SWEEP.format("updn"), "adaptive"),
        (None, "unknown"),
    ],
)
def test_routing_is_what_the_log_of_opensm_has_last(log, routing):
    wiring, ways, _ = drawn(*SHAPES[0])
    texts = [
        ("net", printed.ibnetdiscover(wiring)),
        ("lfts", printed.dump_lfts(wiring, ways)),
    ]
    known = topology_files.of_texts([*texts, ("log", log)] if log else texts)
    assert known.routing == routing and known.has_routes == (routing == "static")


@pytest.mark.parametrize(
    "days, words", [(0, "on the day of the run"), (56, "56 days before the run")]
)
def test_the_age_of_the_oldest_file_is_told(tmp_path, days, words):
    for name, age in (("net", days), ("lfts", 0)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (10**9 - 86400 * age,) * 2)
    text = topology_files.age_text([tmp_path / "lfts", tmp_path / "net"], 10**9)
    assert text == f"the topology ({'net' if days else 'lfts'}) was written {words}"


def test_torn_output_is_refused_with_its_line():
    wiring, ways, _ = drawn(*SHAPES[0])
    net, lfts = printed.ibnetdiscover(wiring), printed.dump_lfts(wiring, ways)
    lines = net.splitlines()
    for cut in range(10, len(lines) - 1, 7):
        with refused(r"^net: (line [0-9]+: |there is no switch)"):
            topology_files.of_texts([("net", "\n".join(lines[:cut]))])
    lines = lfts.splitlines()
    with refused(r"^lfts: line [0-9]+: the table ends here"):
        topology_files.of_texts([("net", net), ("lfts", "\n".join(lines[:-1]))])
    with refused(r"^lfts: line [0-9]+: the table has 16 lines but says that it has 17"):
        topology_files.of_texts(
            [("net", net), ("lfts", "\n".join(lines[:4] + lines[5:]))]
        )


@pytest.mark.parametrize(
    "warning",
    [
        "ibwarn: [1234] _do_madrpc: send failed; Invalid argument",
        "ibwarn: [99] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,3)",
        (
            "src/query_smp.c:228; umad (DR path slid 0; dlid 0; 0,1,19 Attr 0x15:0) bad status 110;"
            " Connection timed out"
        ),
        "src/ibnetdiscover.c:1; send failed; -22",
    ],
)
def test_warnings_of_the_tools_are_skipped_with_a_doubt(warning):
    wiring, ways, _ = drawn(*SHAPES[0])
    net, lfts = printed.ibnetdiscover(wiring), printed.dump_lfts(wiring, ways)
    texts = [
        ("net", f"{warning}\n{net}"),
        ("lfts", lfts.replace("\n", f"\n{warning}\n", 3)),
    ]
    known = topology_files.of_texts(texts)
    assert len(known.hosts) == 16 and known.next is not None
    assert known.warnings == (
        "net: 1 warning of the InfiniBand tools skipped: a part of the fabric may be missing",
        "lfts: 3 warnings of the InfiniBand tools skipped: a part of the fabric may be missing",
    )
    assert not topology_files.of_texts([("net", net), ("lfts", lfts)]).warnings


@pytest.mark.parametrize(
    "text, message",
    [
        ("hello", "not a known form of topology"),
        (
            "   GUID 0x7c port 3: [LinkDownedCounter == 4]\n",
            "the output of ibqueryerrors",
        ),
        ('Ca\t : 0x24 ports 1 devid 0x10 "n1"\n', "the output of ibnetdiscover -l"),
        ("NodeRecord dump:\n\t\tlid....0x1\n", "the output of saquery and ibportstate"),
        ("# Port info: Lid 1 port 6\n", "the output of saquery and ibportstate"),
        ("-I- Discovering ... 12 nodes\n", "the files of ibdiagnet are not read"),
        ("\tGPU0\tGPU1\nGPU0\t X \tNV18\n", "the GPUs of one host"),
        (
            'Switch\t36 "S-1"\t# "a"\nrubbish\n',
            "line 2: not a line of ibnetdiscover output: 'rubbish'",
        ),
        (
            'Switch\t36 "S-1"\t# "a"\n[1]\t"S-2"[1]\t# "b"\n',
            "line 2: the cable from S-1 port 1 to S-2 port 1 is not",
        ),
        (
            'Switch\t36 "S-1"\t# "a"\n[999]\t"S-2"[1]\t# "b"\n',
            "line 2: port 999 is beyond what a switch has",
        ),
        (
            'Ca\t1 "H-1"\t# "n1 mlx5_0"\n',
            "it has 1 adapter and no switch: the link of this host is down; run ibnet",
        ),
        (
            DIRECT,
            "it has 2 adapters and no switch: adapters that are connected directly have no topology",
        ),
        (
            "Unicast lids [0x0-0x1] of switch Lid 1 guid 0x1 (a):\n0x0001 000 : (x)\n1 lids dumped\n",
            "do not show cables",
        ),
        (
            "Unicast lids [0x0-0x0] of switch Lid 0 guid 0x1 (a):\n0 valid lids dumped\n",
            "all forwarding tables are empty: no subnet manager has routed this fabric",
        ),
        (
            SWEEP.format("ftree").replace("tables configured", "tables not configured"),
            "a log of OpenSM in which no tables were set up",
        ),
        ("SwitchName=s0 Nodes=n[0-999999999]\n", "not a list of"),
        (
            "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n1\n",
            "line 2: 'n1' is listed twice",
        ),
        ("SwitchName=s0 Nodes=n[0-\n", "line 1: not a list of"),
        ("SwitchName=s0 Switches=s[1-2]\n", "no switch, block or ring in it has nodes"),
    ],
)
def test_a_file_that_is_no_topology_is_refused_in_one_line(text, message):
    with pytest.raises(OutputError) as error:
        topology_files.of_texts([("file", text)])
    assert str(error.value).startswith("file: ") or "topology" in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


TWO_BLOCKS = (
    "BlockName=b0 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
    "BlockName=b1 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
)
TWO_LEAVES = (
    "SwitchName=b0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
    "SwitchName=b1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
)


@pytest.mark.parametrize(
    "text",
    [
        # a public set-up of Slurm on GB300 nodes, with `topology/block` from topology.yaml
        TWO_BLOCKS + "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n",
        # slurm.schedmd.com/topology.conf.html, and tests of Slurm itself
        "# blocks\n"
        + TWO_BLOCKS.replace(" BlockIndex=0", "").replace(" BlockSize=2", "")
        + "BlockSizes=2,4\n",
        TWO_LEAVES + "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=b[0-1]\n",
        TWO_LEAVES.lower().replace("switchname", "switchName"),
        TWO_LEAVES + "SwitchName=spare Level=0 LinkSpeed=1 Nodes= Switches=\n",
        TWO_LEAVES
        + "SwitchName=spare Level=0 LinkSpeed=1 Nodes=(null) Switches=(null)\n",
        "slurm_load_topo: warning: old file\n"
        + TWO_LEAVES
        + "RingName=r1 Nodes=n[1-4]\nInclude /etc/slurm/more.conf\n",
        TWO_BLOCKS
        + "BlockName=b2 BlockIndex=2 Nodes= BlockSize=2\nTopology=t Plugin=block Default=YES\n",
        # docs.coreweave.com, on SUNK: one file with both, of which Slurm uses one
        TWO_BLOCKS.replace("b", "rack") + TWO_LEAVES + "BlockSizes=2\n",
        # a lab with NVLink domains that topograph writes
        "BlockName=b0 BlockIndex=0 Nodes=n[1-2]\nBlockName=b1 BlockIndex=1 Nodes=n[3-4]\n",
    ],
    ids=[
        "aggregated",
        "topology.conf",
        "tree",
        "any case",
        "no nodes",
        "null",
        "other kinds",
        "empty block",
        "SUNK",
        "topograph",
    ],
)
def test_lines_of_slurm_that_give_no_node_its_switch_are_skipped(text):
    known = topology_files.of_texts([("topology", text)])
    assert (known.switches, known.hosts) == (("b0", "b1"), ("n1", "n2", "n3", "n4"))
    assert known.at.tolist() == [0, 0, 1, 1]


def test_tables_of_another_fabric_are_refused():
    wiring, ways, _ = drawn(*SHAPES[0])
    lfts = printed.dump_lfts(wiring, ways).replace("guid 0x00000000", "guid 0x00000099")
    with refused("belong to none of these switches"):
        topology_files.of_texts(
            [("net", printed.ibnetdiscover(wiring)), ("lfts", lfts)]
        )


def test_names_of_hosts_are_found_behind_adapters_and_domains():
    position, missing = names.positions(
        ("n1.site", "n2", "n3", "other"), ("n2 mlx5_0", "N1 HCA-1", "n3", "n3 mlx5_1")
    )
    assert position.tolist() == [1, 0, 2, -1]
    assert missing == ("other",)


def test_files_are_read_and_a_wrong_one_is_named(tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=a[3-4]\n")
    known = topology_files.read([path])
    assert (known.hosts, known.switches, known.at.tolist()) == (
        ("a1", "a2", "a3", "a4"),
        ("s1", "s2"),
        [0, 0, 1, 1],
    )
    path.write_text("nothing of the kind")
    with refused(f"^{path}: not a known form of topology"):
        topology_files.read([path])
