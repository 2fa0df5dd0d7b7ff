# SPDX-License-Identifier: BSD-3-Clause
"""Measure what the collection itself costs; print tables.

    . ci/env.sh
    python -m lab.benchmark BENCHMARK [--repeat N]

  startup    `reframe -c checks -l` against `reframe -l` on a folder with one empty check, and on one with as
  many
  twins      time and memory of `rotate` simulated on fat trees of 128, 512 and 1024 nodes, randomly
  routed
  store      `compare` of 10^6 and 10^7 records of JSON lines

Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from fabric_checks.records.perflog import text_of
from fabric_checks.records.record import FIELDS
from fabric_checks.records.writing import line_of
from fabric_twins import simgrid, simulate
from fabric_twins.launch import prepare
from fabric_twins.model import description

ROOT = Path(__file__).resolve().parent.parent
EMPTY_CHECK = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function

@rfm.simple_test
class Empty(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @sanity_function
    def nothing_to_check(self):
        return sn.assert_true(1)
"""


def seconds(
    command: list[str], env: dict[str, str] | None = None, cwd: str | None = None
) -> float:
    """Return the wall time of a command that has to succeed."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit(f"error: no command {command[0]!r}; source ci/env.sh first")
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        sys.exit(
            f"error: {' '.join(command)} failed: {' '.join(last) or 'it printed nothing'}"
        )
    return elapsed


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def startup(arguments: argparse.Namespace) -> None:
    """Pairs of runs in turn; the ratio is the median over the pairs."""
    bare = {
        key: value for key, value in os.environ.items() if not key.startswith("RFM_")
    }
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder, "one"), Path(folder, "many")
        listed = subprocess.run(
            ["reframe", "-c", str(ROOT / "checks"), "-l"],
            check=True,
            capture_output=True,
            text=True,
        )
        count = int(re.search(r"Found (\d+) check", listed.stdout)[1])
        for into, number in ((one, 1), (many, count)):
            into.mkdir()
            for index in range(number):
                (into / f"empty_{index}.py").write_text(
                    EMPTY_CHECK.replace("Empty", f"Empty{index}")
                )
        ours, empty, as_many = [], [], []
        for _ in range(arguments.repeat + 1):
            ours.append(seconds(["reframe", "-c", str(ROOT / "checks"), "-l"]))
            empty.append(
                seconds(["reframe", "-c", str(one), "-l"], env=bare, cwd=folder)
            )
            as_many.append(
                seconds(["reframe", "-c", str(many), "-l"], env=bare, cwd=folder)
            )
    pairs = [a / b for a, b in zip(ours[1:], empty[1:], strict=True)]
    to_many = [a / b for a, b in zip(ours[1:], as_many[1:], strict=True)]
    rows = [
        ["reframe -c checks -l", f"{statistics.median(ours[1:]):.2f} s"],
        ["reframe -l, one empty check", f"{statistics.median(empty[1:]):.2f} s"],
        ["ratio, median of pairs", f"{statistics.median(pairs):.2f}"],
        [
            f"reframe -l, {count} empty checks",
            f"{statistics.median(as_many[1:]):.2f} s",
        ],
        ["ratio to these, median of pairs", f"{statistics.median(to_many):.2f}"],
    ]
    show(f"start-up, {arguments.repeat} pairs", ["command", "median"], rows)


TWIN = """\
name: tree
about: a fat tree to simulate
source: {{assumed: for the benchmark}}
nodes: {nodes}
cpus_per_node: 1
inter_node: {{send_us: 1, receive_us: 1, latency_us: 3, rate_MBps: 670, eager_below_B: 16384}}
topology:
  kind: fat_tree
  ports: 32
  levels: {levels}
  link_MBps: 968
  routing: {{kind: destination-table, seed: 1}}
"""


def proportional_MiB(session: int) -> float:
    """Return the memory of all processes of a session, what they share with others counted by share."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                int((folder / "stat").read_text().rpartition(")")[2].split()[3])
                == session
            ):
                total += int(
                    re.findall(
                        r"^Pss: +(\d+) kB", (folder / "smaps_rollup").read_text(), re.M
                    )[0]
                )
        except (OSError, IndexError):
            continue  # the process has ended since
    return total / 1024


def children_s() -> float:
    """Return the processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulated(nodes: int) -> tuple[float, float, float]:
    """Return wall time and processor time in seconds and peak memory in MiB of one simulation, to its last
    line."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tree.yaml")
        file.write_text(TWIN.format(nodes=nodes, levels=2 if nodes <= 512 else 3))
        start, used = time.perf_counter(), children_s()
        twin = description.load(file)
        options = ("--size", "256K", "--messages", "1", "--tests", "1", "--no-warm-up")
        program = [str(simulate.program("rotate")), *options]
        line, environment = prepare(twin, nodes, 1, program, Path(folder))
        output, peak = Path(folder, "output"), 0.0
        with output.open("w") as out:
            process = subprocess.Popen(
                line,
                env=environment,
                cwd=folder,
                stdout=out,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            while process.poll() is None:
                peak = max(peak, proportional_MiB(process.pid))
                time.sleep(0.05)
        elapsed = time.perf_counter() - start
        if not re.search(r"\n# complete: \d+ rows, crc32 \w+\n$", output.read_text()):
            sys.exit(f"error: rotate on {nodes} simulated nodes did not finish")
    return elapsed, children_s() - used, peak


def twins(arguments: argparse.Namespace) -> None:
    """Every simulation a process of its own, one at a time; the plugin and the program are built before."""
    simgrid.plugin(), simulate.program("rotate")
    rows = []
    for nodes, seconds_at_most in ((128, 2), (512, 20), (1024, 90)):
        cells = zip(*(simulated(nodes) for _ in range(arguments.repeat)), strict=True)
        wall, used, peak = (statistics.median(values) for values in cells)
        rows.append(
            [
                str(nodes),
                f"{wall:.1f} s",
                f"{seconds_at_most} s",
                f"{used:.1f} s",
                f"{peak:.0f} MiB",
            ]
        )
    title = f"rotate on simulated nodes, median of {arguments.repeat}, {os.cpu_count()} cores"
    show(
        title,
        ["nodes", "wall time", "wanted", "processor time", "peak proportional memory"],
        rows,
    )


# Records as long as real ones: some 1.6 kB. What is not here is null.
RECORD: dict[str, Any] = {
    "format": 3, "collection": "0.1.0+g0123456789ab", "reframe": "4.10.4", "partition": "compute",
    "environ": "mpich-spack", "layout": "16x4", "nodes": 16, "ppn": 4, "tasks": 64, "quantity": "latency",
    "unit": "us", "better": "smaller",
    "no_reference": "no reference yet: these values are recorded, and not judged", "result": "pass",
    "case_result": "pass", "program": "osu", "program_version": "7.5.1", "stack": "spack",
    "spec": "osu-micro-benchmarks@7.5.1 ~cuda+graphing~papi~rocm build_system=autotools "
            "arch=linux-debian12-zen3",
    "spec_hash": "abcdefghijklmnopqrstuvwxyz012345", "spack": "1.0.2",
    "not_offered": {"imb": "the package does not build with this compiler",
                    "npb": "not asked for on this system"},
    "sizes_B": [0, *(2**n for n in range(23))], "mpi": "MPICH Version: 4.3.0", "compiler": "gcc 12.2.0",
    "nodelist": [f"n{node:03}" for node in range(16)], "binding": "core",
    "placement": [f"n{node:03}:{core}" for node in range(4) for core in range(4)], "jobid": "1234567",
}  # fmt: skip
CHECKS, METRICS = 50, 100
FIRST_RUN = datetime(2024, 1, 1)


def write_perflogs(folder: Path, runs: int, first: datetime = FIRST_RUN) -> None:
    """Add the runs of two systems: a file a check, and to it a case of METRICS values a run, a day from the
    next."""
    random = np.random.default_rng(1)
    for system in ("a", "b"):
        for check in range(CHECKS):
            path = folder / system / f"compute/Check{check}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            own = {
                "system": system,
                "check": f"Check{check}",
                "test": f"Check{check} %layout=16x4",
            }
            with path.open("ab") as out:
                for run in range(runs):
                    time = first + timedelta(days=run, minutes=check)
                    out.write(text_of(line_of(one_case(own, time, random))))


def one_case(
    own: dict[str, Any], time: datetime, random: np.random.Generator
) -> list[dict[str, Any]]:
    """Return the records of a case that ended at a time."""
    own = {
        **own,
        "session": f"{time:%Y%m%d}T000000Z-abcd",
        "time": f"{time:%Y-%m-%dT%H:%M:%S}+00:00",
    }
    common = dict.fromkeys(FIELDS) | RECORD | own
    values = random.normal(10, 0.3, METRICS)
    return [
        common
        | {"metric": f"latency_{metric}B", "size_B": metric, "value": float(value)}
        for metric, value in enumerate(values)
    ]


#: Runs a command, and prints what it used. A process counts as its own memory what it was forked from had, so
#: that none is measured that this one, which may be large, has started itself.
USED = """\
import resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.buffer.write(done.stdout[-500:])
elapsed_s, cpu_s = time.perf_counter() - start, used.ru_utime + used.ru_stime
print(done.returncode, elapsed_s, cpu_s, used.ru_maxrss * 1024 / 1e9)
"""


def used_by(command: list[str]) -> tuple[float, float, float]:
    """Return wall time and processor time in seconds and peak memory in GB of a command that has to
    succeed."""
    done = subprocess.run(
        [sys.executable, "-c", USED, *command], capture_output=True, text=True
    )
    status, *used = (
        (float(word) for word in done.stdout.split())
        if done.returncode == 0
        else (1.0,)
    )
    if status:
        sys.exit(f"error: {' '.join(command)} failed: {done.stderr}")
    elapsed, processor, memory = used
    return elapsed, processor, memory


def store(arguments: argparse.Namespace) -> None:
    """Every command a process of its own; the files are in the cache of the machine, which just wrote
    them."""
    rows = []

    def measure(title: str, command: list[str], wanted: str) -> None:
        wall, used, peak = (
            statistics.median(each)
            for each in zip(*(used_by(command) for _ in repeats), strict=True)
        )
        rows.append([title, f"{wall:.1f} s", f"{used:.1f} s", f"{peak:.2f} GB", wanted])

    repeats = range(arguments.repeat)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 4e9:
            sys.exit(
                f"error: {folder}: the records need 4 GB; set TMPDIR to a folder that has them"
            )
        compare = [
            "fabric-checks",
            "compare",
            f"a={folder}/perflogs/a",
            f"b={folder}/perflogs/b",
        ]
        write_perflogs(folder / "perflogs", 100)
        measure("compare, 10^6 records of JSON lines", compare, "5 s, 1.5 GB")
        write_perflogs(folder / "perflogs", 900, FIRST_RUN + timedelta(days=100))
        measure(
            "compare, 10^7 records of JSON lines",
            compare,
            "a third of the time of 0.1, half of its memory",
        )
    title = f"comparing results, median of {arguments.repeat}, {os.cpu_count()} cores"
    show(
        title, ["command", "wall time", "processor time", "peak memory", "wanted"], rows
    )


BENCHMARKS = {"startup": startup, "twins": twins, "store": store}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--repeat", type=int, default=5, help="of each (default 5)")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat needs a number of at least 1")
    BENCHMARKS[arguments.benchmark](arguments)


if __name__ == "__main__":
    main()
