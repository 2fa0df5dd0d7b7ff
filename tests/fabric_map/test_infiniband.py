# SPDX-License-Identifier: BSD-3-Clause
"""What InfiniBand's tools print: devices, cables with both ends, and tables that are whole."""

import numpy as np
import pytest

from fabric_checks.fabric_map import cabling, forwarding, infiniband, names
from fabric_checks.fabric_map.cabling import Device
from fabric_checks.fabric_map.forwarding import Tables
from tests.breakages import refused

NET = """\
Switch\t36 "S-01"\t# "leaf" enhanced port 0 lid 7 lmc 0
[4]\t"H-02"[1](2)\t# "n1 mlx5_0" lid 11 4xEDR
[9]\t"H-03"[2](3)\t# "n2 mlx5_0" lid 12 4xEDR
Ca\t1 "H-02"\t# "n1 mlx5_0"
[1](2)\t"S-01"[4]\t# lid 11 lmc 0 "leaf" lid 7 4xEDR
Ca\t2 "H-03"\t# "n2 mlx5_0"
[1](4)\t"S-01"[8]\t# lid 13 lmc 0 "leaf" lid 7 4xEDR
[2](3)\t"S-01"[9]\t# lid 12 lmc 0 "leaf" lid 7 4xEDR
"""
#: An adapter of two ports, at a switch each; its second port is described first.
TWO_PORTS = """\
Switch\t36 "S-0a"\t# "a" lid 1
[1]\t"H-02"[2]\t# "n1 HCA-1" lid 12
Switch\t36 "S-0b"\t# "b" lid 2
[1]\t"H-02"[1]\t# "n1 HCA-1" lid 11
Ca\t2 "H-02"\t# "n1 HCA-1"
[1]\t"S-0b"[1]\t# lid 11 lmc 0 "b" lid 2
[2]\t"S-0a"[1]\t# lid 12 lmc 0 "a" lid 1
"""
TABLE = "Unicast lids [0x0-0xc] of switch Lid 7 guid 0x{} (leaf):\n0x000b 004 : (n1)\n0x000c 009 : (n2)\n"


def test_cables_and_the_lids_of_adapters():
    text = NET.replace(
        '[9]\t"H-03"', '[8]\t"H-03"[1](4)\t# "n2 mlx5_0" lid 13 4xEDR\n[9]\t"H-03"'
    )
    fabric = cabling.parse_ibnetdiscover(text)
    assert fabric.devices["H-02"] == Device(
        "H-02", "n1 mlx5_0", is_switch=False, lids={1: 11}, guids={1: f"{2:016x}"}
    )
    assert (
        fabric.devices["H-03"].lids == {1: 13, 2: 12}
        and fabric.devices["S-01"].is_switch
    )
    ends = {frozenset(each.ends) for each in fabric.links}
    assert {each.kind for each in fabric.links} == {"4xEDR"}
    assert ends == {
        frozenset({("S-01", 4), ("H-02", 1)}),
        frozenset({("S-01", 8), ("H-03", 1)}),
        frozenset({("S-01", 9), ("H-03", 2)}),
    }


def test_a_cable_with_one_end_is_refused():
    with refused("is not"):
        cabling.parse_ibnetdiscover(NET)


def named(*descriptions):
    """Return the output for a switch with an adapter of each description."""
    ports = "".join(
        f'[{n}]\t"H-{n}"[1]\t# "{name}" lid {n}\n'
        for n, name in enumerate(descriptions, 1)
    )
    own = "".join(
        f'Ca\t1 "H-{n}"\t# "{name}"\n[1]\t"S-0"[{n}]\t# lid {n}\n'
        for n, name in enumerate(descriptions, 1)
    )
    return cabling.parse_ibnetdiscover(
        f'Switch\t36 "S-0"\t# "leaf" lid 99\n{ports}{own}'
    )


@pytest.mark.parametrize(
    "name",
    [
        "MT4129 ConnectX7   Mellanox Technologies",
        "localhost",
        "ubuntu mlx5_0",
        "localhost HCA-1",
        "ConnectX-6",
        "",
        "mlx5_0",
    ],
)
def test_an_adapter_that_names_no_host_is_left_out_with_a_doubt(name):
    known = infiniband.of_fabric(
        named(
            "n1 mlx5_0",
            name,
            "ubuntu-7 HCA-1",
            "Mellanox Technologies Aggregation Node",
            name,
        )
    )
    assert known.hosts == ("n1 mlx5_0", "ubuntu-7 HCA-1")
    assert known.warnings == (
        f"2 adapters without the name of a host, as in {name!r}: left out",
    )
    with refused(
        "^1 adapter without the name of a host, .*: no adapter names its host; have"
    ):
        infiniband.of_fabric(named(name))


SEVERAL = ("n1 mlx5_1", "n1 mlx5_0", "n2 mlx5_1", "n2 mlx5_0", "n3 mlx5_0")
ALL = ("n1 mlx5_0", "n1 mlx5_1", "n2 mlx5_0", "n2 mlx5_1", "n3 mlx5_0")


def test_a_host_with_several_adapters_is_on_the_map_with_each():
    known = infiniband.of_fabric(named(*SEVERAL))
    assert known.hosts == ALL and not known.warnings
    two = infiniband.of_fabric(cabling.parse_ibnetdiscover(TWO_PORTS))
    assert two.hosts == ("n1 HCA-1:1", "n1 HCA-1:2")
    assert [two.switches[at] for at in two.at] == ["b", "a"]


@pytest.mark.parametrize(
    "patterns, hosts, positions, warning",
    [
        (["mlx5_0"], ("n1 mlx5_0", "n2 mlx5_0", "n3 mlx5_0"), [0, 1, 2], None),
        (
            ["mlx5_1:1", "mlx5_1"],
            ("n1 mlx5_1", "n2 mlx5_1"),
            [0, 1, -1],
            "1 host with other adapters than ",
        ),
        (
            ["HCA-1"],
            ALL,
            [-1, -1, 4],
            "2 hosts with several ports, such as n1 (mlx5_0, mlx5_1): ",
        ),
        (
            [],
            ALL,
            [-1, -1, 4],
            "2 hosts with several ports, such as n1 (mlx5_0, mlx5_1): ",
        ),
    ],
)
def test_the_adapter_that_was_used_has_to_be_known(patterns, hosts, positions, warning):
    """By the first of two adapters healthy cables were blamed, 18 of 18 pairs measured alone."""
    known = names.on_adapters(infiniband.of_fabric(named(*SEVERAL)), patterns)
    found, _ = names.positions(("n1", "n2", "n3"), known.hosts)
    assert (known.hosts, found.tolist()) == (hosts, positions)
    assert len(known.warnings) == (warning is not None) and "".join(
        known.warnings
    ).startswith(warning or "")


def test_a_rank_that_names_its_adapter_is_at_that_adapter():
    """As in matrices of several rails, whose fault was told at the leaf of another rail."""
    known = names.on_adapters(infiniband.of_fabric(named(*SEVERAL)), [])
    found, missing = names.positions(
        ("n2 mlx5_1", "n1 mlx5_0", "n4 mlx5_0"), known.hosts
    )
    assert found.tolist() == [3, 0, -1] and missing == ("n4 mlx5_0",)


@pytest.mark.parametrize("port, switch", [(1, "b"), (2, "a")])
def test_the_two_ports_of_an_adapter_are_told_apart(port, switch):
    two = infiniband.of_fabric(cabling.parse_ibnetdiscover(TWO_PORTS))
    chosen = names.on_adapters(two, [f"HCA-1:{port}"])
    assert chosen.hosts == (f"n1 HCA-1:{port}",) and not chosen.warnings
    assert names.positions(("n1",), chosen.hosts)[0].tolist() == [0]
    assert chosen.switches[chosen.at[0]] == switch and chosen.ports.tolist() == [1]
    unclear = names.on_adapters(two, ["HCA-1"])
    assert names.positions(("n1",), unclear.hosts)[0].tolist() == [-1]
    assert "n1 (HCA-1:1, HCA-1:2): switch and routes are unknown" in unclear.warnings[0]


RATES = """\
Switch\t36 "S-01"\t# "leaf" enhanced port 0 lid 7 lmc 0
[1]\t"H-02"[1](2)\t# "n1 mlx5_0" lid 11 2xHDR
[2]\t"S-03"[1]\t# "spine" lid 8 {up}
[3]\t"S-03"[2]\t# "spine" lid 8 4xEDR
Switch\t36 "S-03"\t# "spine" enhanced port 0 lid 8 lmc 0
[1]\t"S-01"[2]\t# "leaf" lid 7 {up}
[2]\t"S-01"[3]\t# "leaf" lid 7 4xEDR
Ca\t1 "H-02"\t# "n1 mlx5_0"
[1](2)\t"S-01"[1]\t# lid 11 lmc 0 "leaf" lid 7 2xHDR
"""


@pytest.mark.parametrize(
    "up, expected",
    [
        ("4xHDR", [2, 2, 1, 1]),
        ("4xQDR", [0.32, 0.32, 1, 1]),
        ("4xEDR", None),
        ("", None),
        ("4xZDR", None),
    ],
)
def test_rates_of_cables_are_multiples_of_a_hosts(up, expected):
    known = infiniband.of_fabric(cabling.parse_ibnetdiscover(RATES.format(up=up)))
    assert (
        expected is known.rates
        if expected is None
        else known.rates.tolist() == expected
    )


def test_more_entries_than_can_be_analysed_are_refused(monkeypatch):
    devices, tables = (
        named("n1 mlx5_0", "n2 mlx5_0"),
        Tables({"0" * 16: np.array([255, 1, 2], dtype=np.uint8)}),
    )
    monkeypatch.setattr(infiniband, "MOST_ENTRIES", 2)
    assert infiniband.of_fabric(devices, tables).switches == ("leaf",)
    monkeypatch.setattr(infiniband, "MOST_ENTRIES", 1)
    with refused("^1 switches and 2 hosts are more than can be analysed"):
        infiniband.of_fabric(devices, tables)


def ports(*pieces):
    """Return the port by LID of each switch of an output."""
    return {
        guid: {lid: port for lid, port in enumerate(own.tolist()) if port != 255}
        for guid, own in forwarding.parse(pieces).ports.items()
    }


def test_tables_are_read_and_a_torn_one_is_refused():
    whole = "".join(TABLE.format(guid) + "2 valid lids dumped\n" for guid in "ab")
    route = {11: 4, 12: 9}
    assert ports(whole) == {"a".zfill(16): route, "b".zfill(16): route}
    for torn, line in (
        (TABLE.format("a"), 3),
        (TABLE.format("a") + TABLE.format("b"), 3),
    ):
        with refused(f"line {line}: the table ends here"):
            forwarding.parse([torn])


OF_ONE_SWITCH = """Unicast lids [0x0-0x3] of switch Lid 2 guid 0x000000000000000a (leaf1):
  Lid  Out   Destination
       Port     Info
0x0001 {first} : (Channel Adapter portguid 0x0000000000000101: 'n1 mlx5_0')
0x0002 000 : (Switch portguid 0x000000000000000a: 'leaf1')
2 valid lids dumped
"""


def test_the_farewell_of_dump_lfts_is_passed_over():
    farewell = "\n*** WARNING ***: this command has been replaced by dump_fts\n\n\n"
    assert ports(OF_ONE_SWITCH.format(first="004") + farewell) == {
        "a".zfill(16): {1: 4, 2: 0}
    }


def test_the_table_of_a_switch_that_did_not_answer_is_refused():
    with refused("switch 0x000000000000000a did not answer.* run the command again"):
        forwarding.parse([OF_ONE_SWITCH.format(first="000")])


def tables(count):
    """Return tables that differ in their ports, as of one fabric, a text for each switch."""
    texts = []
    for switch in range(count):
        lines = [
            f"0x{lid:04x} {(switch * lid) % 37 + 1:03d} : (Channel Adapter portguid 0x{lid:x}: 'n{lid}')"
            for lid in range(1, 40)
        ]
        head = f"Unicast lids [0x0-0x27] of switch Lid {switch + 50} guid 0x{switch + 1:016x} (sw{switch}):"
        texts.append("\n".join([head, *lines, "39 valid lids dumped ", ""]))
    return texts


ROUTE = "0x0010 {:03d} : (Channel"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("", "", None),
        (ROUTE.format(33), ROUTE.format(9), None),
        (ROUTE.format(33), ROUTE.format(300), "line 99: not a route to one host"),
        (
            ROUTE.format(33),
            "0x0010 0x3 : (Channel",
            "line 99: not a line of a forwarding table",
        ),
        (ROUTE.format(33), "0x0011 033 : (Channel", "line 100: LID 17 has two routes"),
        ("0x0010 033 :", "ibwarn: [7] lost\n0x0010 033 :", None),
        (
            "39 valid",
            "38 valid",
            "line 123: the table has 39 lines but says that it has 38",
        ),
        (
            "0x0027 005 : (Channel Adapter portguid 0x27: 'n39')\n39 valid",
            "38 valid",
            None,
        ),
        ("39 valid lids dumped ", "", "line 122: the table ends here"),
        (
            "of switch Lid 52",
            "of a switch",
            "line 83: not a line of a forwarding table",
        ),
        (
            "guid 0x0000000000000003",
            "guid 0x0000000000000001",
            "line 83: switch 0x0000000000000001 has two",
        ),
    ],
)
def test_a_table_like_the_one_above_is_read_as_if_it_were_alone(old, new, error):
    """Whole tables are compared with the one above; what differs in more than its ports is read by lines."""
    texts = tables(4)
    texts[2] = texts[2].replace(old, new)
    assert not old or texts[2] != tables(4)[2]
    if error:
        with refused(error):
            forwarding.parse(["".join(texts)])
        return
    expected = {}
    for text in texts:
        expected |= ports(text)
    assert len(expected) == 4 and ports("".join(texts)) == expected
    lines = "".join(texts).splitlines(keepends=True)
    assert (
        ports(*("".join(lines[at : at + 7]) for at in range(0, len(lines), 7)))
        == expected
    )
    assert forwarding.parse(texts).warnings == ("ibwarn" in new)
