# SPDX-License-Identifier: BSD-3-Clause
"""Every form that InfiniBand's own tools print gives the same map; those with too little are refused."""

import numpy as np
import pytest

from fabric_checks.core.routing import STATIC
from fabric_checks.fabric_map import names, topology_files
from fabric_checks.fabric_map.model import UNKNOWN, arcs_of, of_cables
from tests.breakages import refused
from tests.conftest import TESTS

GOLDEN = TESTS / "golden" / "infiniband"
HOSTS = [f"cn{number}" for number in range(1, 9)]
SWEEP = "osm_ucast_mgr_process: minhop tables configured on all switches\n"


def known(*files, adapters=("mlx5_0",), change=str):
    """Return the map that files give together with a log of OpenSM.

    :param change: is applied to the text of the last one.
    """
    texts = [(name, (GOLDEN / name).read_text()) for name in files]
    texts[-1] = texts[-1][0], change(texts[-1][1])
    return names.on_adapters(
        topology_files.of_texts([*texts, ("log", SWEEP)]), adapters
    )


def routes(fabric):
    """Return the cables of each ordered pair of hosts, by their names, and the rate of the slowest."""
    positions, missing = names.positions(HOSTS, fabric.hosts)
    assert not missing
    senders, receivers = np.repeat(positions, 8), np.tile(positions, 8)
    arcs = arcs_of(fabric, senders, receivers)
    found = {}
    for (one, other), own in zip(
        ((a, b) for a in HOSTS for b in HOSTS), arcs.tolist(), strict=True
    ):
        cables = [
            " - ".join(sorted(fabric.cables[arc // 2].split(" to ")))
            for arc in own
            if arc >= 0
        ]
        rate = min((float(fabric.rates[arc]) for arc in own if arc >= 0), default=1.0)
        found[one, other] = None if own[0] == UNKNOWN else (cables, rate)
    return found


@pytest.mark.parametrize(
    "cabling", ["ibnetdiscover.txt", "ibnetdiscover-g.txt", "opensm-subnet.lst"]
)
@pytest.mark.parametrize(
    "tables",
    [
        "dump_fts.txt",
        "dump_fts-n.txt",
        "dump_lfts.txt",
        "opensm-lfts.dump",
        "opensm.fdbs",
    ],
)
def test_all_forms_give_the_same_routes(cabling, tables):
    fabric = known(cabling, tables)
    found = routes(fabric)
    assert found == routes(known("ibnetdiscover.txt", "dump_fts.txt"))
    assert not fabric.warnings and fabric.routing == STATIC
    assert found["cn1", "cn2"] == ([], 1.0)
    # Of the two ways between the leaves one has a cable of half the rate.
    cables, rate = found["cn1", "cn5"]
    assert (
        len(cables) == 2 and cables[0].startswith("leaf1 port ") and rate in (0.5, 1.0)
    )
    assert {rate for _, rate in found.values()} == {0.5, 1.0}


@pytest.mark.parametrize(
    "name, why",
    [
        ("ibnetdiscover-p.txt", "the output of ibnetdiscover -p is not read"),
        ("iblinkinfo-line.txt", "the output of iblinkinfo is not read"),
    ],
)
def test_outputs_that_are_not_read_are_refused_by_their_names(name, why):
    with refused(f"^{name}: {why}; give "):
        known(name)


def test_lids_that_were_assigned_anew_are_named():
    """Such tables were said to be of another fabric."""

    def changed(text):
        return (
            text.replace("0x0001 ", "0x00ff ")
            .replace("0x0013 ", "0x0001 ")
            .replace("0x00ff ", "0x0013 ")
        )

    fabric = known(
        "ibnetdiscover.txt", "dump_fts.txt", change=changed, adapters=("mlx5_*",)
    )
    (warning,) = [line for line in fabric.warnings if "LIDs were assigned anew" in line]
    assert "LID 19 is cn8 mlx5_0 by the topology" in warning and "2 of 16" in warning


def test_no_route_is_used_where_one_does_not_arrive():
    """As where a cable moved between two files: others arrived, by cables that they do not have."""
    fabric = known(
        "ibnetdiscover.txt",
        "dump_fts.txt",
        change=lambda text: text.replace(" 012 : (Channel", " 008 : (Ch"),
    )
    (warning,) = fabric.warnings
    assert (
        "the table of leaf" in warning
        and "by these cables" in warning
        and "take both again" in warning
    )
    assert set(routes(fabric).values()) == {None}


def net(spines, kinds, hosts=("4xHDR",) * 4):
    """Return the output of ibnetdiscover; :param kinds: of the cables of two leaves to the spines."""
    leaves = [[], []]
    above = {spine: [] for spine in range(spines)}
    adapters = []
    for number, kind in enumerate(hosts):
        leaves[0].append(
            f'[{number + 1}]\t"H-{number + 1:x}"[1]\t# "cn{number + 1} mlx5_0" lid 1 {kind}'
        )
        adapters.append(f'Ca\t1 "H-{number + 1:x}"\t# "cn{number + 1} mlx5_0"')
        adapters.append(
            f'[1]\t"S-a0"[{number + 1}]\t# lid 1 lmc 0 "leaf1" lid 1 {kind}'
        )
    for leaf in (0, 1):
        for spine, kind in zip(above, kinds[leaf], strict=True):
            leaves[leaf].append(
                f'[{20 + spine}]\t"S-b{spine}"[{leaf + 1}]\t# "spine" lid 1 {kind}'
            )
            above[spine].append(
                f'[{leaf + 1}]\t"S-a{leaf}"[{20 + spine}]\t# "leaf" lid 1 {kind}'
            )
    switches = [f'Switch\t40 "S-a{leaf}"\t# "leaf{leaf + 1}" lid 1' for leaf in (0, 1)]
    lines = [switches[0], *leaves[0], switches[1], *leaves[1]]
    for spine, own in above.items():
        lines += [f'Switch\t40 "S-b{spine}"\t# "spine{spine + 1}" lid 1', *own]
    return "\n".join([*lines, *adapters]) + "\n"


HDR, EDR = ("4xHDR",) * 4, ("4xEDR",) * 4


@pytest.mark.parametrize(
    "kinds, hosts, links",
    [
        ((HDR, HDR), HDR, []),
        ((HDR, ("4xEDR", *HDR[1:])), HDR, ["leaf2 port 20 to spine1 port 2"]),
        ((HDR, EDR), HDR, []),  # a leaf of an older generation
        ((("4xEDR", *HDR[1:]), ("4xEDR", *HDR[1:])), HDR, []),  # and a spine
        ((HDR, HDR), (*HDR[1:], "4xEDR"), ["cn4 mlx5_0 port 1 to leaf1 port 4"]),
        ((HDR, HDR), (*HDR[1:], "4xEDR", "4xEDR"), []),
        ((HDR, HDR), ("2xHDR",) * 4, []),
        ((("", *HDR[1:]), HDR), HDR, []),
    ],
)
def test_a_link_that_runs_slower_than_its_fellows_is_named(kinds, hosts, links):
    fabric = topology_files.of_texts([("net", net(4, kinds, hosts))])
    found = fabric.slow_links
    # It is held to the rate of its fellows, so that a measurement blames it, too.
    assert fabric.rates is None or not found
    ends = [frozenset(link.split(" to ")) for link in found]
    assert ends == [frozenset(link.split(" to ")) for link in links]
    assert all(
        "runs at 4xEDR, 3 of its fellows at 4xHDR" in text for text in found.values()
    )


def test_boards_of_a_chassis_have_their_own_names():
    """They were shown by their GUIDs, where people look for L04/U1."""

    def director(text):
        for number, board in enumerate(("L01/U1", "L02/U1", "S01/U1", "S02/U1")):
            name = ("leaf1", "leaf2", "spine1", "spine2")[number]
            text = text.replace(f"MF0;{name}:MQM8700/U1", f"MF0;ibdir:CS8500/{board}")
        return text

    assert set(known("ibnetdiscover.txt", change=director).switches) == {
        *("ibdir L01/U1", "ibdir L02/U1", "ibdir S01/U1", "ibdir S02/U1")
    }


def test_hosts_of_an_older_generation_have_the_rate_of_their_links():
    """Three of twenty were no kind by what they measured, and cables between others were blamed."""
    hosts = (*HDR, "4xEDR", "4xEDR")
    fabric = topology_files.of_texts([("net", net(4, (HDR, HDR), hosts))])
    assert fabric.host_rates.tolist() == [1, 1, 1, 1, 0.5, 0.5]
    assert fabric.rates.tolist() == [1] * 16
    pairs = np.array([0, 0, 4, 5]), np.array([1, 4, 0, -1])
    shares = of_cables(fabric, arcs_of(fabric, *pairs), *pairs)
    assert shares.tolist() == [1, 0.5, 0.5, 0.5]
