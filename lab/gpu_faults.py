# SPDX-License-Identifier: BSD-3-Clause
"""Faults of GPUs and their adapters, put into recorded outputs, on a cluster of eight hosts by Slurm.

    . ci/env.sh
    python -m lab.gpu_faults 20

One session of ``NcclCollective`` with eight processes a host in as many jobs as there are trials, and one
more of a healthy machine. Jobs, launches, files and their evaluation are real; the program is a stand-in, and
the log of NCCL and the devices of the hosts are made. A fault counts as named if its host is blamed with the
right GPU or network, and nobody else is.
"""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests import builders
from tests.cluster.conftest import CI, TESTS, Cluster
from tests.cluster.test_gpus import CASE, GPUS, HOSTS, SIZES_B
from tests.parsers import nccl
from tests.ports import pcie
from tests.ports.test_gpu_faults import FAULTS, file_text

KINDS = (
    "a rail with half the bytes",
    "a rail at half its rate",
    "a GPU without GPUDirect",
    "a GPU that is missing",
    "sockets",
)


def make(folder, seed, kind):
    """Write the files of a trial; return the host at fault and what has to be said of it, None of a healthy
    machine."""
    generator = random.Random(seed)
    host, gpu = generator.choice(HOSTS), generator.randrange(GPUS)
    how, text = FAULTS[kind] if kind else (lambda *_: ({}, {}), "")
    log, files = how(host, gpu)
    for name in ("log", "ports"):
        (folder / name).mkdir(parents=True)
    for each in HOSTS:
        (folder / f"ports/{each}.txt").write_text(
            file_text(each, generator, **(files if each == host else {}))
        )
    lines = nccl.log(HOSTS, GPUS, **log).splitlines(keepends=True)
    for rank in range(len(HOSTS) * GPUS):
        begin = f"{HOSTS[rank // GPUS]}:{4000 + rank}:"
        (folder / "log" / str(rank)).write_text(
            "".join(line for line in lines if line.startswith(begin))
        )
    address = pcie.gpu_path(gpu)[-1]
    said = text.format(gpu=gpu, other=gpu ^ 1, address=address)
    return (host, said) if kind else (None, "")


def is_named(record, host, text, kind):
    """Return whether a record blames the host with these words and nobody else, and fails if traffic went
    over TCP."""
    found = [each for each in record["findings"] or [] if each["severity"] == "fault"]
    blamed = {name for each in found for name in each["hosts"]}
    fails = f"NCCL went over TCP (Socket) on node {host}" in (
        record["fail_reason"] or ""
    )
    if host is None:
        return not found and record["case_result"] == "pass"
    return (
        blamed == {host}
        and any(text in each["text"] for each in found)
        and fails == (kind == "sockets")
    )


def main():
    """Print a line for each trial, and how many were named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", type=int)
    asked = parser.parse_args()
    kinds = [*(KINDS[at % len(KINDS)] for at in range(asked.trials)), None]
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as folder:
        outputs, results = Path(folder) / "outputs", Path(folder) / "results"
        expected = [
            make(outputs / str(at), at, kind) for at, kind in enumerate(kinds, 1)
        ]
        text = nccl.output(
            "all_reduce", HOSTS, GPUS, SIZES_B, bus_GBps=380, per_iteration=True
        )
        (outputs / "all_reduce.txt").write_text(text)
        shutil.copy(Path(__file__).with_suffix(".sh"), outputs / "all_reduce_perf")
        line = [
            CI / "run",
            "--system",
            "minicluster",
            "-C",
            TESTS / "cluster/gpus/settings.py",
            "-n",
            CASE,
        ]
        variables = {
            "FABRIC_RESULTS": str(results),
            "FABRIC_MPI": "mpich",
            "GPU_OUTPUTS": str(outputs),
        }
        try:
            cluster(
                "up",
                "--nodes",
                str(len(HOSTS)),
                "--cores",
                str(GPUS),
                "--rate",
                "1gbit",
            )
            repeat = f"--repeat={len(kinds)}"
            done = cluster.tried("head", *line, repeat, **variables, timeout=3600)
        finally:
            cluster.end()
        records = [
            each
            for path in results.rglob("NcclCollective.jsonl")
            for each in builders.records_in(path)
        ]
    by_job = {int(record["jobid"]): record for record in records}
    if len(by_job) != len(kinds):
        sys.exit(
            f"{len(by_job)} of {len(kinds)} jobs have records\n{done.stdout}{done.stderr}"
        )
    named = 0
    for (job, record), kind, (host, said) in zip(
        sorted(by_job.items()), kinds, expected, strict=True
    ):
        is_right = is_named(record, host, said, kind)
        named += is_right and kind is not None
        texts = [each["text"] for each in record["findings"] or []]
        print(
            f"job {job}: {kind or 'healthy'}: {'right' if is_right else f'WRONG: {host}, {said!r}: {texts}'}"
        )
    print(f"{named} of {asked.trials} named")


if __name__ == "__main__":
    main()
