# SPDX-License-Identifier: BSD-3-Clause
"""Nights in sequence on a cluster of eight nodes: an open finding, and nights that traffic of others makes
blind.

    . ci/env.sh
    python -m lab.faults.live_nights 1        # six nights a trial, a quarter of an hour

The first night is healthy; from the second on a drawn node is at half its rate; traffic of others disturbs
the third and the fourth; the fifth is like the second; the node is mended before the sixth. A trial is right
if the second and the fifth name the node and no other, the third and the fourth name no other node and do not
close the finding, and the last does.
"""

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.conftest import Cluster
from tests.cluster.test_nights import ALL, HALF, RATE, Nights

#: Streams between nodes that come and go, so that a pair differs from one measurement to the next.
OTHERS = """
import os, random, socket, threading, time
me = int(os.environ["SLURMD_NODENAME"][1:])
def listen():
    with socket.create_server(("", 5999)) as server:
        while True:
            peer, _ = server.accept()
            threading.Thread(
                target=lambda: [None for _ in iter(lambda: peer.recv(1 << 16), b"")], daemon=True
            ).start()
threading.Thread(target=listen, daemon=True).start()
time.sleep(2)
while True:
    try:
        other = random.choice([n for n in range(1, 9) if n != me])
        with socket.create_connection((f"n{other}", 5999)) as peer:
            until = time.monotonic() + random.uniform(0.2, 1.5)
            while time.monotonic() < until: peer.sendall(bytes(1 << 16))
    except OSError:
        pass  # the peer has not begun, or has ended
    time.sleep(random.uniform(0.2, 1.5))
"""


@contextlib.contextmanager
def traffic(cluster):
    """Let processes of others send to each other meanwhile, outside of Slurm."""
    hosts = cluster.entry.spec.hosts
    line = cluster.line_on("{}", "env", "SLURMD_NODENAME={}", sys.executable)
    running = [
        subprocess.Popen(
            [*(word.format(host) for word in line), "-c", OTHERS],
            env=cluster.environment(),
        )
        for host in hosts
    ]
    try:
        yield
        ended = [
            host
            for host, process in zip(hosts, running, strict=True)
            if process.poll() is not None
        ]
        assert not ended, f"the traffic of {ended} ended by itself"
    finally:
        for host, process in zip(hosts, running, strict=True):
            cluster.tried(
                host, "pkill", "-KILL", "-f", "create_server"
            )  # 1 if it has ended
            process.wait()


def names(night, kind):
    return {host for finding in night.json[kind] for host in finding["hosts"]}


def trial(cluster, results, host):
    """Return whether a sequence of nights is right, and a line for each night."""
    nights, found = Nights(cluster, results), []
    found.append(nights.spend(ALL))
    cluster("shape", f"{host}={HALF}")
    try:
        found.append(nights.spend(ALL))
        with traffic(cluster):
            found += [nights.spend(ALL), nights.spend(ALL)]
        found.append(nights.spend(ALL))
    finally:
        cluster("shape", f"{host}={RATE}")
    found.append(nights.spend(ALL))
    healthy, first, *disturbed, again, last = found
    seen = [names(each, "new") | names(each, "still") for each in found]
    is_right = (
        not seen[0] and seen[1] == seen[4] == {host} and not seen[5]
        and all(each <= {host} for each in seen[2:4])
        and not any(each.json["closed"] for each in (healthy, first, *disturbed, again))
        and names(last, "closed") == {host}
    )  # fmt: skip
    return is_right, [
        f"{each.json['headline']}, status {each.status}" for each in found
    ]


def main(count):
    """Print the headlines of the nights of each trial, and how many trials are right."""
    seed = int(time.time())
    draw, right = random.Random(seed), 0
    print(f"seed {seed}", flush=True)
    cluster = Cluster()
    cluster("up", "--nodes", "8", "--rate", RATE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(count):
                host = draw.choice(cluster.entry.spec.hosts)
                is_right, lines = trial(cluster, Path(folder) / str(number), host)
                right += is_right
                print(
                    f"trial {number}, {host}: {'right' if is_right else 'wrong'}",
                    *lines,
                    sep="\n  ",
                    flush=True,
                )
    finally:
        cluster.end()
    print(f"{right} of {count} right")
    return 0 if right == count else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    sys.exit(main(parser.parse_args().count))
