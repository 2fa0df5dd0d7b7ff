# SPDX-License-Identifier: BSD-3-Clause
"""The map of each fabric that real OpenSM routes: a route is right or unknown, never another."""

import itertools
from collections import Counter

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.fabric_map import topology_files
from tests.breakages import refused
from tests.fabric_map.real import opensm
from tests.fabric_map.real.cabling import (
    is_adapter,
    joined,
    switch,
    torus,
    tree,
    two_planes,
)
from tests.fabric_map.real.routes import compare, true_routes

pytestmark = pytest.mark.skipif(
    bool(opensm.missing()),
    reason=f"not installed: {', '.join(opensm.missing())}; ci/requirements/debian.txt",
)
ANY = ("minhop", "dnup", "dfsssp", "sssp", "lash", "nue")
OF_TREES = (*ANY, "updn", "ftree")
CABLES, TABLES = (
    ("ibnetdiscover", "opensm-subnet.lst"),
    ("dump_fts", "opensm-lfts.dump", "opensm.fdbs"),
)


def without_a_host():
    made = tree(3, 2)
    made.cut("cn011 mlx5_0")
    return made


def with_a_slow_cable():
    made = tree(3, 4)
    made.slow(switch("L00"), switch("S01"), "4xEDR")
    return made


FABRICS = {
    "two levels": (tree(4, 3), OF_TREES),
    "three levels": (tree(2, 2, cores=2, pods=2), OF_TREES),
    "trunks of two cables": (tree(3, 2, trunk=2), OF_TREES),
    "a director": (
        tree(4, 3, name=lambda board: f"MF0;ibdir:CS8500/{board}/U1"),
        ("minhop", "ftree"),
    ),
    "two adapters a host": (tree(3, 2, adapters=2), OF_TREES),
    "a slow cable": (with_a_slow_cable(), ("minhop", "ftree")),
    "half links to hosts": (tree(3, 2, kinds=("2xHDR", "4xHDR")), ("minhop", "updn")),
    "an older generation": (tree(3, 2, kinds=("4xEDR", "4xEDR")), ("minhop", "updn")),
    "a host that is down": (without_a_host(), ("minhop", "ftree")),
    "mesh": (joined(list(itertools.combinations(range(5), 2))), ANY),
    "ring": (
        joined([(each, (each + 1) % 5) for each in range(5)], count=2),
        (*ANY, "dor"),
    ),
    "torus": (joined(torus(3, 3)), (*ANY, "dor")),
}
RUNS = [
    (name, engine, 0) for name, (_, engines) in FABRICS.items() for engine in engines
]


def first_adapter(cabling):
    return next(filter(is_adapter, cabling.ends))


def swept(cabling, folder, engine="minhop", *options, host=None):
    """Return what all tools print of a fabric that one engine has routed."""
    with opensm.simulated(cabling, folder) as fabric:
        return fabric.sweep(host or first_adapter(cabling), engine, *options)


def known(cables, tables, log):
    return topology_files.of_texts(
        [("cables", cables), ("tables", tables), ("log", log)]
    )


@pytest.mark.parametrize(
    "name, engine, lmc", [*RUNS, ("two levels", "updn", 1), ("torus", "lash", 1)]
)
def test_every_route_is_right(tmp_path, name, engine, lmc):
    cabling, _ = FABRICS[name]
    printed = swept(cabling, tmp_path, engine, "--lmc", str(lmc))
    truth = true_routes(cabling, printed["dump_fts"])
    assert (
        len(truth)
        == sum(is_adapter(node) and bool(ports) for node, ports in cabling.ends.items())
        ** 2
    )
    for cables, tables in itertools.product(CABLES, TABLES):
        fabric = known(printed[cables], printed[tables], printed["opensm.log"])
        assert not fabric.warnings and compare(fabric, truth) == {"right": len(truth)}
        assert [set(link.split()) >= {"L00", "S01"} for link in fabric.slow_links] == [
            True
        ] * (name == "a slow cable")


def test_the_highest_lid_that_tools_leave_out_is_told(tmp_path):
    """Eight switches and 56 hosts have 64 LIDs, and ``dump_fts`` no line for the last one."""
    printed = swept(tree(4, 4, hosts=14), tmp_path)
    cables, log = printed["ibnetdiscover"], printed["opensm.log"]
    (warning,) = known(cables, printed["dump_fts"], log).warnings
    assert "unknown" in warning and "opensm-lfts.dump" in warning
    assert not known(cables, printed["opensm-lfts.dump"], log).warnings


def test_a_plane_has_the_routes_of_its_own_adapters_alone(tmp_path):
    """The map of one plane gave its routes to the adapters of the other, and of two files one was dropped."""
    cabling = two_planes()
    with opensm.simulated(cabling, tmp_path) as fabric:
        planes = [fabric.sweep(f"cn000 mlx5_{plane}", "minhop") for plane in (0, 1)]
    for plane, other in (planes, planes[::-1]):
        texts = [plane[name] for name in ("ibnetdiscover", "dump_fts", "opensm.log")]
        adapter = f"mlx5_{planes.index(plane)}"
        truth, of_other = (
            true_routes(cabling, each["dump_fts"]) for each in (plane, other)
        )
        assert (
            compare(known(*texts), truth, adapter)
            == compare(known(*texts), truth)
            == {"right": 81}
        )
        assert compare(known(*texts), of_other) == {"unknown": 81}
        with refused("with other adapters than mlx5_"):
            compare(known(*texts), of_other, f"mlx5_{planes.index(other)}")
        with refused("a second file of cables"):
            topology_files.of_texts(
                [("one", plane["ibnetdiscover"]), ("other", other["ibnetdiscover"])]
            )


def judged(cables, tables, log, truth):
    """Return the counts of a map whose files do not fit: none is wrong, what is unknown is told."""
    try:
        fabric = known(cables, tables, log)
    except OutputError as error:
        assert "again" in str(error)
        return Counter(refused=1)
    counts = compare(fabric, truth)
    assert not counts["wrong"] and bool(fabric.warnings) >= bool(counts["unknown"]), (
        counts,
        fabric.warnings,
    )
    return counts


@pytest.mark.parametrize(
    "cabling", [tree(4, 3, hosts=20), joined(torus(3, 3), hosts=12)]
)
def test_replies_that_were_lost_make_no_wrong_route(tmp_path, cabling):
    """``dump_fts`` prints the block before once more in place of one that it did not get."""
    host = first_adapter(cabling)
    counts = Counter()
    with opensm.simulated(cabling, tmp_path) as fabric:
        whole = fabric.sweep(host, "minhop")
        truth = true_routes(cabling, whole["dump_fts"])
        for node in [node for node in cabling.ends if not is_adapter(node)][:2]:
            for share in (100, 60, 60, 60):
                fabric.command(f'Error "{node}" {share} 25')
                tables = fabric.printed(host)["dump_fts"]
                counts += judged(
                    whole["ibnetdiscover"], tables, whole["opensm.log"], truth
                )
            fabric.command(f'Error "{node}" 0 25')
    assert counts["refused"] >= 2


@pytest.mark.parametrize(
    "cabling", [tree(4, 3), joined(torus(3, 3)), tree(2, 2, cores=2, pods=2)]
)
@pytest.mark.parametrize("position", [1, -1])
def test_lids_of_another_sweep_make_no_wrong_route(tmp_path, cabling, position):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old = swept(cabling, tmp_path / "old")
    new = swept(
        cabling, tmp_path / "new", host=[*filter(is_adapter, cabling.ends)][position]
    )
    assert old["opensm-lfts.dump"] != new["opensm-lfts.dump"]
    for (before, after), cables, tables in itertools.product(
        ((old, new), (new, old)), CABLES, TABLES
    ):
        truth = true_routes(cabling, after["dump_fts"])
        assert judged(before[cables], after[tables], after["opensm.log"], truth)[
            "right"
        ] < len(truth)


@pytest.mark.parametrize("made", [lambda: tree(4, 3), lambda: joined(torus(3, 3))])
@pytest.mark.parametrize("what", ["a host", "two hosts", "a cable between switches"])
def test_a_cable_that_moved_makes_no_wrong_route(tmp_path, made, what):
    """Tables of before or after, with the cables of the other."""
    before, after = made(), made()
    hosts = [*filter(is_adapter, before.ends)]
    if what == "a cable between switches":
        one = after.ends[hosts[0]][1][0]
        far, port, _ = next(
            end for end in after.ends[one].values() if not is_adapter(end[0])
        )
        after.move(far, port, after.ends[hosts[-1]][1][0])
    else:
        places = [after.ends[host][1][0] for host in (hosts[0], hosts[-1])]
        after.move(hosts[-1], 1, places[0])
        if what == "two hosts":
            after.move(hosts[0], 1, places[1])
    printed = [swept(cabling, tmp_path) for cabling in (before, after)]
    for (cabling, tables), (_, cables) in itertools.permutations(
        zip((before, after), printed, strict=True)
    ):
        truth = true_routes(cabling, tables["dump_fts"])
        for form in TABLES:
            judged(cables["ibnetdiscover"], tables[form], tables["opensm.log"], truth)


def test_routes_of_torus_2qos_are_right(tmp_path):
    """It is told which switches a ring joins by their GUIDs, which ibsim makes in the order of its file."""
    cabling = joined(torus(3, 3), hosts=2)
    order = [node for node in cabling.ends if not is_adapter(node)]
    guid = {node: hex(0x200000 + number) for number, node in enumerate(order)}
    near = {
        kind: switch(f"sw{number}")
        for kind, number in (("yp", 1), ("xp", 3), ("ym", 2), ("xm", 6))
    }
    lines = [
        "torus 3 3 1",
        *(f"{kind}_link {guid[switch('sw0')]} {guid[near[kind]]}" for kind in near),
    ]
    conf = tmp_path / "torus.conf"
    conf.write_text("\n".join([*lines, "x_dateline 0", "y_dateline 0", ""]))
    printed = swept(cabling, tmp_path, "torus-2QoS", "--torus_config", conf, "-Q")
    truth = true_routes(cabling, printed["dump_fts"])
    fabric = known(printed["ibnetdiscover"], printed["dump_fts"], printed["opensm.log"])
    assert not fabric.warnings and compare(fabric, truth) == {"right": len(truth)}
