# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of the collection on a real cluster: `ci/run --system minicluster`, which starts one, or runs in
one."""

import os
import re
import runpy

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.records import runs
from tests import programs
from tests.cluster.conftest import CI, cluster_of, require, require_pmix
from tests.guard import GUARD_S

#: The payload of a TCP segment in a full Ethernet frame, as a share of the bytes that the link counts: with
#: time stamps 1448 of 1514 bytes. (The shaper counts neither preamble, checksum nor gap: a real link carries
#: 1448 of 1538.)
LINK_MBps, PAYLOAD = 125.0, 1448 / 1514


two = cluster_of("--nodes", "2", "--rate", "1gbit")


def configured(monkeypatch, system="minicluster", **environment):
    """Return the partitions of a system as its file defines them."""
    for name in ("NODES", "CORES", "RATE"):
        monkeypatch.delenv(f"FABRIC_CLUSTER_{name}", raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(f"FABRIC_CLUSTER_{name}", text)
    monkeypatch.setenv("FABRIC_MPI", "all")
    file = CI.parent / f"config/systems/{system.partition('_')[0]}.py"
    systems = {each["name"]: each for each in runpy.run_path(str(file))["systems"]}
    system = systems[system]
    # No host takes it for its own.
    assert not any(
        re.match(pattern, host)
        for pattern in system["hostnames"]
        for host in ("", "head", "n1", "login1")
    )
    return {partition["name"]: partition for partition in system["partitions"]}


def test_the_system_is_what_the_cluster_is(monkeypatch):
    expected = {"nodes": 4, "cores": 2, "nics": 1, "link_MBps": 125.0}
    for partition in configured(monkeypatch).values():
        assert {key: partition["extras"][key] for key in expected} == expected
    small = configured(monkeypatch, NODES="8", CORES="1", RATE="100mbit")["pmix"][
        "extras"
    ]
    assert {key: small[key] for key in expected} == {
        "nodes": 8,
        "cores": 1,
        "nics": 1,
        "link_MBps": 12.5,
    }
    assert "link_MBps" not in configured(monkeypatch, RATE="none")["pmi2"]["extras"]


@pytest.mark.parametrize("system", ["minicluster", "generic_slurm"])
def test_each_mpi_is_in_the_partition_that_launches_it(monkeypatch, system):
    found = configured(monkeypatch, system)
    assert {name: partition["environs"] for name, partition in found.items()} == {
        "pmi2": ["mpich", "impi"],
        "pmix": ["openmpi"],
    }
    for name, partition in found.items():
        assert partition["scheduler"] == "fabric-slurm"
        assert partition["launcher"] == "srun"
        assert ["SLURM_MPI_TYPE", name] in partition["env_vars"]


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("CORES", "0", "FABRIC_CLUSTER_CORES is '0'; give a number"),
        ("RATE", "fast", "FABRIC_CLUSTER_RATE is 'fast'; write it as 1gbit"),
    ],
)
def test_a_cluster_that_cannot_be(monkeypatch, name, text, says):
    with pytest.raises(FabricError, match=says):
        configured(monkeypatch, **{name: text})


@pytest.mark.parametrize(
    "partition, mpis", [("pmi2", "mpich,impi"), ("pmix", "openmpi")]
)
def test_each_mpi_is_launched_in_its_own_way(two, tmp_path, partition, mpis):
    require_pmix(two.tried("head", "srun", f"--mpi={partition}", "true").stderr)
    two.on("head", CI / "run", "--system", "minicluster", "--mpi", mpis, "-n", "OsuBarrier%layout=2x2",
           FABRIC_RESULTS=str(tmp_path), timeout=GUARD_S)  # fmt: skip
    found = runs.load_session(tmp_path).records
    assert {(record["partition"], record["environ"]) for record in found} == {
        (partition, mpi) for mpi in mpis.split(",")
    }
    for record in found:
        assert [place.split(":")[0] for place in record["placement"]] == [
            "n1",
            "n1",
            "n2",
            "n2",
        ], record["environ"]


def test_ranks_on_the_wrong_node_fail_and_the_map_is_printed(two, tmp_path):
    """The job has two nodes; srun is made to start both ranks on the first.

    SLURM_HOSTFILE is set in the script: from Slurm 24.11 on sbatch refuses -N beside it.
    """
    hosts = tmp_path / "hosts"
    hosts.write_text("n1\nn1\n")
    names = f"SLURM_HOSTFILE:{hosts},SLURM_DISTRIBUTION:arbitrary"
    done = two.tried(
        "head",
        CI / "run",
        "--system",
        "minicluster",
        "-n",
        "OsuBarrier%layout=2x1",
        "-S",
        f"OsuBarrier.env_vars={names}",
        FABRIC_RESULTS=str(tmp_path / "results"),
        timeout=GUARD_S,
    )
    assert done.returncode == 1, done.stdout
    text = " ".join(done.stdout.split())
    assert "placement: the ranks are on 1 node in place of 2" in text
    assert "rank 1 on n1 (cpus " in text


def test_a_failing_start_is_the_status_of_the_run(tmp_path):
    """Before anything is measured: one line, no session."""
    require(namespaces=False)
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path), "FABRIC_CLUSTER_NODES": "0"}
    done = programs.run([CI / "run", "--system=minicluster"], env=env)
    assert done.returncode == 1
    assert done.stderr == "error: 0 nodes are impossible; give 1 to 500\n"
    assert not list(tmp_path.rglob("*.jsonl"))
