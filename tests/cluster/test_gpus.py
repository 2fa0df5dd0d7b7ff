# SPDX-License-Identifier: BSD-3-Clause
"""Collectives between GPUs on a cluster whose nodes have none: a stand-in prints what nccl-tests and NCCL
would.

The job, its launches by Slurm, the files of the log and their evaluation are real; on GPUs it was not tried
by us.
"""

import shutil

import pytest

from tests import builders
from tests.cluster.conftest import CI, cluster_of
from tests.conftest import TESTS
from tests.parsers import nccl

HERE = TESTS / "cluster/gpus"
NODES, GPUS = 8, 8
HOSTS = [f"n{number}" for number in range(1, NODES + 1)]
SIZES_B = [1024 * 4**power for power in range(11)]
CASE = f"^NcclCollective%benchmark=all_reduce%layout={NODES}x{GPUS}$"


eight = cluster_of("--nodes", str(NODES), "--cores", str(GPUS), "--rate", "1gbit")


@pytest.fixture
def run(eight, tmp_path):
    """Return a function that runs the case, given how the log differs from a healthy one, and returns its
    records."""

    def once(**how):
        outputs, results = tmp_path / "outputs", tmp_path / "results"
        (outputs / "log").mkdir(parents=True)
        shutil.copy(HERE / "perf.sh", outputs / "all_reduce_perf")
        text = nccl.output(
            "all_reduce", HOSTS, GPUS, SIZES_B, bus_GBps=380, per_iteration=True
        )
        (outputs / "all_reduce.txt").write_text(text)
        lines = nccl.log(HOSTS, GPUS, **how).splitlines(keepends=True)
        for rank in range(NODES * GPUS):
            begin = f"{HOSTS[rank // GPUS]}:{4000 + rank}:"
            (outputs / "log" / str(rank)).write_text(
                "".join(line for line in lines if line.startswith(begin))
            )
        line = [
            CI / "run",
            "--system",
            "minicluster",
            "-C",
            HERE / "settings.py",
            "-n",
            CASE,
        ]
        environment = {
            "FABRIC_RESULTS": str(results),
            "FABRIC_MPI": "mpich",
            "GPU_OUTPUTS": str(outputs),
        }
        done = eight.tried("head", *line, **environment)
        paths = list(results.rglob("NcclCollective.jsonl"))
        assert len(paths) == 1, done.stdout + done.stderr
        return done, builders.records_in(paths[0])

    return once


def test_a_healthy_machine_passes_with_all_its_values(run):
    done, records = run()
    assert done.returncode == 0, done.stdout
    values = {record["metric"]: record["value"] for record in records}
    assert values[f"bus_bandwidth_{SIZES_B[-1]}B"] == pytest.approx(380e3, rel=1e-3)
    assert values["in_place_ratio"] == pytest.approx(1 / 1.02, rel=1e-3)
    assert {record["program_version"] for record in records} == {"2.19.6"}
    assert not [each for each in records[0]["findings"] or [] if each["kind"] == "gpu"]


def test_a_gpu_at_the_adapter_of_another_is_a_finding_of_its_host(run):
    done, records = run(
        adapter=lambda host, gpu: 4 if (host, gpu) == ("n6", 5) else gpu
    )
    assert done.returncode == 0, done.stdout
    found = [each for each in records[0]["findings"] if each["kind"] == "gpu"]
    assert {tuple(each["hosts"]) for each in found} == {("n6",)}
    assert (
        "GPU 5 sends through mlx5_4, on most nodes it sends through mlx5_5"
        in found[0]["text"]
    )


def test_a_case_that_went_over_sockets_fails_by_name(run):
    done, records = run(network=lambda host, gpu: "Socket" if host == "n2" else "IB")
    assert done.returncode != 0
    assert (
        "NCCL went over TCP (Socket) on node n2, not over mlx5_*"
        in records[0]["fail_reason"]
    )
