# SPDX-License-Identifier: BSD-3-Clause
"""Trace LAMMPS, and keep of each computation the least of several runs."""

import re
import shutil
import subprocess
import tarfile
import tempfile
from itertools import product
from pathlib import Path

from fabric_checks.software import installed
from fabric_twins import replay
from lab.section6 import PROBLEMS, RANKS, TRACES
from tests.fabric.test_profile import Profiled

#: Time steps: lj makes a neighbour list in them once, rhodo about once; both have all that a step has.
STEPS = {"lj": 20, "rhodo": 10}
ATOMS, RUNS = 32000, 5
#: The ranks of Intel MPI sleep while they wait: others that share their cores compute meanwhile.
SLEEP = {"I_MPI_WAIT_MODE": "1", "OMP_NUM_THREADS": "1"}


def run(mpi, problem, ranks, folder):
    """Run LAMMPS; return the actions of each rank in its time steps."""
    prefix = installed.folder("lammps")
    program = next(prefix.glob("lib/python3*/site-packages/lammps/lmp"))
    bench = next(prefix.glob("lib/python3*/site-packages/lammps/share/lammps/bench"))
    lines = (bench / f"in.{problem}").read_text().splitlines()
    steps = [
        f"run {STEPS[problem]}" if line.split()[:1] == ["run"] else line
        for line in lines
    ]
    assert steps != lines, f"in.{problem} has no line that runs"
    (folder / "in").write_text("\n".join(steps) + "\n")
    shutil.copytree(
        bench,
        folder,
        ignore=shutil.ignore_patterns("in.*", "log.*", "POTENTIALS"),
        dirs_exist_ok=True,
    )
    variables = [
        f"LD_PRELOAD={mpi.library}",
        f"FABRIC_PROFILE={folder}/profile.txt",
        f"FABRIC_TRACE={folder}",
    ]
    command = [
        "mpirun",
        "-np",
        str(ranks),
        "env",
        *variables,
        program,
        "-in",
        "in",
        "-log",
        "none",
    ]
    done = subprocess.run(
        command,
        env=mpi.env | SLEEP,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.returncode == 0
        and f" {STEPS[problem]} steps with {ATOMS} atoms" in done.stdout
    ), done.stdout + done.stderr
    if ranks == 1:
        # A rank alone has no barriers in its trace; LAMMPS says what its loop took of the processor.
        seconds = float(re.search(r"Loop time of (\S+) on 1 procs", done.stdout)[1])
        share = float(re.search(r"(\S+)% CPU use", done.stdout)[1]) / 100
        return [[["compute", str(round(1e9 * seconds * share))]]]
    replay.load_trace(folder)  # says so if it cannot be replayed
    return [
        loop((folder / f"rank-{rank}.trace").read_text().splitlines())
        for rank in range(ranks)
    ]


def loop(lines):
    """Return the actions of the time steps: LAMMPS has a barrier before and behind them, and one before it
    ends."""
    barriers = [
        number for number, line in enumerate(lines) if line.split()[1:] == ["barrier"]
    ]
    begin, end = barriers[-3:-1]
    return [line.split()[1:] for line in lines[begin + 1 : end]]


def least(runs):
    """Return the actions of one rank with the least of each computation over several runs.

    MPI_Waitany, which the Fourier transforms of rhodo's long-range forces call, takes messages as they come:
    the order of these is that of the first run.
    """
    found = []
    for same in zip(*runs, strict=True):
        (name,) = {each[0] for each in same}
        if name == "compute":
            found.append([name, three_digits(min(int(each[1]) for each in same))])
        else:
            assert name == "wait" or all(each == same[0] for each in same), (
                f"runs differ in more than time: {same}"
            )
            found.append(same[0])
    return found


def three_digits(value):
    """Return a whole number with three digits that count: what a trace has beyond is noise, and takes
    room."""
    return str(int(float(f"{value:.3g}")))


def trace(folder):
    """Trace all problems on all numbers of ranks, one after the other and then all again."""
    with tempfile.TemporaryDirectory() as scratch:
        mpi = Profiled("impi", Path(scratch))
        for number, problem, ranks in product(range(RUNS), PROBLEMS, RANKS):
            each = mpi.folder / f"{problem}-{ranks}-{number}"
            each.mkdir()
            write(folder / "runs" / each.name, run(mpi, problem, ranks, each))
            shutil.rmtree(each)
            print(f"run {number + 1} of {RUNS}: {problem}, {ranks} ranks", flush=True)
    combine(folder)


def combine(folder):
    """Write one trace of the runs of each problem on each number of ranks."""
    for problem, ranks in product(PROBLEMS, RANKS):
        runs = [
            actions(folder / f"runs/{problem}-{ranks}-{number}", ranks)
            for number in range(RUNS)
        ]
        write(
            folder / problem / str(ranks),
            [least(same) for same in zip(*runs, strict=True)],
        )


def actions(folder, ranks):
    """Return the actions of each rank of a trace that :func:`write` wrote, without the first and the last."""
    files = [folder / f"rank-{rank}.trace" for rank in range(ranks)]
    return [
        [line.split()[1:] for line in file.read_text().splitlines()[4:-2]]
        for file in files
    ]


def write(folder, ranks):
    """Write the actions of each rank as a trace."""
    folder.mkdir(parents=True)
    for number, actions in enumerate(ranks):
        words = [["init"], *actions, ["finalize"]]
        head = f"# fabric-checks trace 1\n# rank: {number} of {len(ranks)}\n# flops/s: 1000000000\n"
        body = "".join(f"{number} {' '.join(each)}\n" for each in words)
        (folder / f"rank-{number}.trace").write_text(
            f"{head}{body}# complete: {len(words)} actions\n"
        )


def keep(folder):
    """Pack the traces, such that the same give the same file."""
    for problem in PROBLEMS:
        with tarfile.open(
            TRACES / f"lammps-{problem}.tar.xz", "w:xz", preset=9
        ) as archive:
            archive.add(folder / problem, problem, filter=anonymous)


def anonymous(member):
    """Return a member of an archive without what is of this machine."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
