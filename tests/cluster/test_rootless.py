# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of an ordinary user."""

from pathlib import Path

import pytest

from tests import programs
from tests.cluster.conftest import Cluster, require
from tests.guard import wait_for

# Whether this user may make namespaces, by the code that `up` asks.
TRY = """
import sys
sys.path.insert(0, sys.argv[1])
from minicluster import needs
needs.check_namespaces(needs.account())
"""


@pytest.fixture
def cluster(as_user):
    require(namespaces=False)
    *become, command = as_user
    python = become or ["/usr/bin/python3"]
    done = programs.run([*python, "-c", TRY, command.parent], cwd="/")
    if done.returncode != 0:
        pytest.skip(
            f"no cluster without root here: {done.stderr.strip().splitlines()[-1]}"
        )
    cluster = Cluster(as_user)
    yield cluster
    if cluster.call("status").returncode == 0:
        cluster("down")


def test_without_root(cluster, report_table):
    said = cluster("up", "--nodes", "3", "--shape", "n2=50mbit")
    report_table("without root", said.splitlines()[:1])
    assert ", rootless, " in cluster("status")
    assert sorted(cluster.on("head", "srun", "-N3", "hostname").split()) == [
        "n1",
        "n2",
        "n3",
    ]
    # Jobs belong to the user, not to a root of the namespace: Open MPI and others refuse that one.
    assert (
        cluster.on("n1", "id", "-u")
        == cluster.on("head", "srun", "-w", "n1", "id", "-u")
        != "0\n"
    )
    assert "tbf" in cluster.sh("tc qdisc show dev to-n2") and "tbf" in cluster.on(
        "n2", "tc", "qdisc"
    )
    cluster("shape", "n2=none")
    assert "tbf" not in cluster.sh("tc qdisc show dev to-n2") + cluster.on(
        "n2", "tc", "qdisc"
    )
    query = "sacct -X -n -P -o State,NodeList"
    wait_for(
        lambda: "COMPLETED|n[1-3]" in cluster.sh(query),
        "accounting does not know the job",
    )
    cluster("kill", "n3")
    cluster("start", "n3")
    uid = cluster.on("n1", "id", "-u").strip()
    left = [
        Path(cluster("status").splitlines()[0].rpartition(" in ")[2]),
        Path(f"/tmp/fabric-clusters-{uid}"),
    ]
    left[1] /= cluster.name
    assert [path.exists() for path in left] == [True, True]
    cluster("down")
    assert [path.exists() for path in left] == [False, False]
