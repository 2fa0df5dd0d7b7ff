# SPDX-License-Identifier: BSD-3-Clause
"""Several ways between two switches: the kernel spreads connections over them, and a lost one carries
nothing."""

import json

import pytest

from tests.cluster import ways
from tests.cluster.conftest import Cluster, require

LEAVES = (["n1"], ["n2"])
LISTEN = (
    "import socket\nwith socket.create_server(('', 5998), backlog=64) as s:\n while True:"
    " s.accept()[0].recv(1 << 16)"
)
SEND = (
    "import socket, time\nfor _ in range(100):\n"
    " try: socket.create_connection(('n2', 5998)).close(); break\n"
)
SEND += " except ConnectionRefusedError: time.sleep(0.1)\n"
SEND += "for _ in range(40):\n with socket.create_connection(('n2', 5998)) as s: s.sendall(bytes(1 << 13))"


@pytest.fixture(scope="module")
def cluster():
    require()
    one = Cluster()
    one("up", "--nodes", "2", "--without-accounting")
    yield one
    one("down")


def carried(cluster, *, lost=()):
    """Return what each way up of the first leaf carries of forty connections, in bytes."""

    def sent():
        shown = json.loads(cluster.on("head", "ip", "-json", "-stats", "link", "show"))
        return {link["ifname"]: link["stats64"]["tx"]["bytes"] for link in shown}

    cluster.sh(ways.commands(LEAVES, 2, "1gbit", lost))
    before = sent()
    cluster.on(
        "n2",
        "bash",
        "-c",
        f'python3 -c "{LISTEN}" > /dev/null 2>&1 & echo $! > /dev/shm/listener',
    )
    try:
        cluster.on("n1", "python3", "-c", SEND)
    finally:
        cluster.on("n2", "bash", "-c", "kill $(cat /dev/shm/listener)")
    return [sent()[f"up0-{spine}"] - before[f"up0-{spine}"] for spine in range(2)]


def test_connections_take_both_ways_and_none_takes_a_lost_one(cluster):
    assert min(carried(cluster)) > 5 * (1 << 13)
    gone, left = carried(cluster, lost=[(0, 0)])
    assert left > 40 * (1 << 13) and gone < 1 << 13
