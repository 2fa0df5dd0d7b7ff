# SPDX-License-Identifier: BSD-3-Clause
"""The platform file, line by line."""

from fabric_twins.model.platform_file import platform

PAIR = (
    "kind: fat_tree\n  ports: 4\n  levels: 3\n  link_MBps: 100\n  routing: {kind: d-mod-k}",
    "kind: star",
)


def lines_of(twin, keyword):
    return [line for line in platform(twin).splitlines() if line.split()[0] == keyword]


def test_a_star_in_full(small):
    assert platform(small(PAIR, ("nodes: 8", "nodes: 2"))).splitlines() == [
        "fabric-twin-platform 1",
        "# small: a twin for tests",
        "hop_latency 0",
        "table inter send 2 0 1e-06 1024 2e-06",
        "table inter receive 1 0 1e-06",
        "table inter latency 1 0 3e-06",
        "table intra send 2 0 1e-06 1024 2e-06",
        "table intra receive 1 0 1e-06",
        "table intra latency 1 0 3e-06",
        "link n0:up 100000000 shared -",
        "link n0:down 100000000 shared -",
        "link n0:self 100000000 shared -",
        "link n1:up 100000000 shared -",
        "link n1:down 100000000 shared -",
        "link n1:self 100000000 shared -",
        "switch switch",
        "host n0 0 1 out 1 0 in 1 1 self 1 2",
        "host n1 0 1 out 1 3 in 1 4 self 1 5",
        "next 0 - -",
        "end 19",
    ]


def test_processors_are_there_where_something_computes(small):
    assert platform(small(), flops=2e9).splitlines()[2] == "processors 2 2000000000"


def test_a_bus_for_both_directions_is_one_link_out_and_in(small):
    twin = small(
        PAIR,
        ("nodes: 8", "nodes: 2"),
        added="host_bus: {duplex: half, rate_MBps: 90}\n",
    )
    assert lines_of(twin, "link")[2] == "link n0:bus 90000000 shared -"
    assert lines_of(twin, "host")[0] == "host n0 0 1 out 2 0 2 in 2 1 2 self 1 3"


def test_a_bus_with_a_limit_for_each_direction(small):
    twin = small(
        PAIR,
        ("nodes: 8", "nodes: 2"),
        added="host_bus: {duplex: full, rate_MBps: 90}\n",
    )
    assert lines_of(twin, "link")[2:4] == [
        "link n0:bus-out 90000000 shared -",
        "link n0:bus-in 90000000 shared -",
    ]
    assert lines_of(twin, "host")[0] == "host n0 0 1 out 2 0 2 in 2 1 3 self 1 4"


def test_cables_have_two_directions_and_faults_both(small):
    twin = small(added="faults: [{cable: [leaf-0, level-2-0], fraction: 0.5}]\n")
    assert lines_of(twin, "link")[:3] == [
        "link leaf-0:level-2-0:0 50000000 shared 4",
        "link level-2-0:leaf-0:1 50000000 shared 0",
        "link leaf-0:level-2-1:2 100000000 shared 5",
    ]
    assert lines_of(twin, "next")[0] == "next 0 - - 0 2 0 2 0 2"


def test_several_transfers_within_a_node_share_a_rate(small):
    twin = small(
        added="intra_node: {send_us: 1, receive_us: 1, latency_us: 1, rate_MBps: 200, several_MBps: 150}\n"
    )
    assert "link n0:self 200000000 several 150000000 -" in lines_of(twin, "link")
