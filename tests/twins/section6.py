# SPDX-License-Identifier: BSD-3-Clause
"""Section 6 of SAND2005-5199 by replay: LAMMPS's lj and rhodo on the twins of the report's clusters, on 1 to 16 nodes.

. ci/env.sh
python -m tests.twins.section6 trace FOLDER     # runs LAMMPS with Intel MPI on 1 to 32 ranks, five times each
python -m tests.twins.section6 keep FOLDER      # packs what was traced into config/twins/traces
python -m tests.twins.section6 replay           # replays what is kept; writes section6.json here, docs/section6.svg
python -m tests.twins.section6 why              # the gap at 16 processes, with what may make it taken out of the twin

LAMMPS runs as many ranks as there are processes, on whatever cores there are. Ranks that share a core do not spoil the
trace: computation is the processor time of the rank's thread. What they do to each other's caches is in it; so each
computation is the least of that of several runs, which all have the same actions. Of a run only its time steps are
kept, as LAMMPS's own loop time has them: what stands between two barriers.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

from fabric_checks.core.layouts import Layout
from fabric_checks.report import drawing
from fabric_checks.report.drawing import Line, Panel
from fabric_checks.software import installed
from fabric_twins import replay, replay_series
from fabric_twins.model.description import HostBus
from fabric_twins.simulate import Bounds
from tests.fabric.test_profile import Profiled
from tests.twins.simulation import ROOT, shipped

#: lj is the report's own problem; rhodo stands for its stouch (docs/applications.md argues why).
PROBLEMS = ("lj", "rhodo")
TWINS = ("cbc", "red-squall", "escher")
#: Time steps: lj makes a neighbour list in them once, rhodo about once; both have all that a step has.
STEPS = {"lj": 20, "rhodo": 10}
ATOMS, RUNS = 32000, 5
#: As the traced machine's, and a quarter of that: processors of 2005 were slower; by how much is not published.
CPU_SPEEDS = (1, 0.25)
RANKS = (1, 2, 4, 8, 16, 32)
#: What is kept of the traces; the check LammpsReplay replays them, too.
TRACES = ROOT / "config" / "twins" / "traces"
#: What came of it. The tests hold this to what the report says.
RECORDED = Path(__file__).with_name("section6.json")
#: The ranks of Intel MPI sleep while they wait: others that share their cores compute meanwhile.
SLEEP = {"I_MPI_WAIT_MODE": "1", "OMP_NUM_THREADS": "1"}


# ------------------------------------------------------------------------------------------------------------- traced


def run(mpi, problem, ranks, folder):
    """Run LAMMPS; return the actions of each rank in its time steps."""
    prefix = installed.folder("lammps")
    program = next(prefix.glob("lib/python3*/site-packages/lammps/lmp"))
    bench = next(prefix.glob("lib/python3*/site-packages/lammps/share/lammps/bench"))
    lines = (bench / f"in.{problem}").read_text().splitlines()
    steps = [f"run {STEPS[problem]}" if line.split()[:1] == ["run"] else line for line in lines]
    assert steps != lines, f"in.{problem} has no line that runs"
    (folder / "in").write_text("\n".join(steps) + "\n")
    shutil.copytree(bench, folder, ignore=shutil.ignore_patterns("in.*", "log.*", "POTENTIALS"), dirs_exist_ok=True)
    variables = [f"LD_PRELOAD={mpi.library}", f"FABRIC_PROFILE={folder}/profile.txt", f"FABRIC_TRACE={folder}"]
    command = ["mpirun", "-np", str(ranks), "env", *variables, program, "-in", "in", "-log", "none"]
    done = subprocess.run(command, env=mpi.env | SLEEP, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and f" {STEPS[problem]} steps with {ATOMS} atoms" in done.stdout, (
        done.stdout + done.stderr
    )
    if ranks == 1:
        # A rank alone has no barriers in its trace; LAMMPS says what its loop took of the processor.
        seconds = float(re.search(r"Loop time of (\S+) on 1 procs", done.stdout)[1])
        share = float(re.search(r"(\S+)% CPU use", done.stdout)[1]) / 100
        return [[["compute", str(round(1e9 * seconds * share))]]]
    replay.load(folder)  # says so if it cannot be replayed
    return [loop((folder / f"rank-{rank}.trace").read_text().splitlines()) for rank in range(ranks)]


def loop(lines):
    """Return the actions of the time steps: LAMMPS has a barrier before and behind them, and one before it ends."""
    barriers = [number for number, line in enumerate(lines) if line.split()[1:] == ["barrier"]]
    begin, end = barriers[-3:-1]
    return [line.split()[1:] for line in lines[begin + 1 : end]]


def least(runs):
    """Return the actions of one rank with the least of each computation over several runs.

    MPI_Waitany, which the Fourier transforms of rhodo's long-range forces call, takes messages as they come: the order
    of these is that of the first run.
    """
    found = []
    for same in zip(*runs, strict=True):
        (name,) = {each[0] for each in same}
        if name == "compute":
            found.append([name, three_digits(min(int(each[1]) for each in same))])
        else:
            assert name == "wait" or all(each == same[0] for each in same), f"runs differ in more than time: {same}"
            found.append(same[0])
    return found


def three_digits(value):
    """Return a whole number with three digits that count: what a trace has beyond is noise, and takes room."""
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
        runs = [actions(folder / "runs" / f"{problem}-{ranks}-{number}", ranks) for number in range(RUNS)]
        write(folder / problem / str(ranks), [least(same) for same in zip(*runs, strict=True)])


def actions(folder, ranks):
    """Return the actions of each rank of a trace that :func:`write` wrote, without the first and the last."""
    files = [folder / f"rank-{rank}.trace" for rank in range(ranks)]
    return [[line.split()[1:] for line in file.read_text().splitlines()[4:-2]] for file in files]


def write(folder, ranks):
    """Write the actions of each rank as a trace."""
    folder.mkdir(parents=True)
    for number, actions in enumerate(ranks):
        words = [["init"], *actions, ["finalize"]]
        head = f"# fabric-checks trace 1\n# rank: {number} of {len(ranks)}\n# flops/s: 1000000000\n"
        body = "".join(f"{number} {' '.join(each)}\n" for each in words)
        (folder / f"rank-{number}.trace").write_text(f"{head}{body}# complete: {len(words)} actions\n")


def keep(folder):
    """Pack the traces, such that the same give the same file."""
    for problem in PROBLEMS:
        with tarfile.open(TRACES / f"lammps-{problem}.tar.xz", "w:xz", preset=9) as archive:
            archive.add(folder / problem, problem, filter=anonymous)


def anonymous(member):
    """Return a member of an archive without what is of this machine."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


# ----------------------------------------------------------------------------------------------------------- replayed


def unpacked(folder):
    """Unpack the traces that are kept; return them by problem."""
    for problem in PROBLEMS:
        with tarfile.open(TRACES / f"lammps-{problem}.tar.xz") as archive:
            # Pythons before 3.11.4 and 3.10.12 have no filters; later ones want to be told.
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return {problem: replay_series.load(folder / problem) for problem in PROBLEMS}


def replayed():
    """Return the run times, in s, by problem, speed of the processors, twin and layout."""
    clusters = [(name, shipped(name)) for name in TWINS]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for (problem, traces), speed in product(unpacked(Path(folder)).items(), CPU_SPEEDS):
            for series in replay_series.run(traces, clusters, (1, 2), speed, Bounds()):
                times = {str(layout): round(point.run_s, 9) for layout, point in series.points.items()}
                found.setdefault(problem, {}).setdefault(f"{speed:g}", {})[series.name] = times
    return found


def gaps(times, ranks_alike):
    """Return how much longer, in %, two processes a node take than one.

    :param times: by layout. :param ranks_alike: with as many processes, by their number; else on as many nodes, by
        theirs.
    """
    found = {}
    for text, time in times.items():
        layout = Layout.of(text)
        one = str(Layout(layout.tasks if ranks_alike else layout.nodes, 1))
        if layout.ppn == 2 and one in times:
            found[layout.tasks if ranks_alike else layout.nodes] = 100 * (time / times[one] - 1)
    return found


def draw(found, path):
    """Draw efficiency and gap over the nodes and over the processes: the report's Figures 15 and 16 in kind."""
    panels = []
    for problem in PROBLEMS:
        efficiency, more = [], []
        for name in TWINS:
            times = found[problem]["1"][name]
            for ppn in (1, 2):
                points = {Layout.of(text): time for text, time in times.items() if Layout.of(text).ppn == ppn}
                shares = {each.nodes: 100 * times["1x1"] / (each.tasks * time) for each, time in points.items()}
                efficiency.append(Line(f"{name}, {ppn} a node", tuple(shares.items())))
            more.append(Line(name, tuple(gaps(times, ranks_alike=True).items())))
        title = "lj" if problem == "lj" else "rhodo, for stouch"
        panels.append((f"{title}: 32,000 atoms in all: parallel efficiency over nodes", efficiency))
        panels.append((f"{title}: how much longer with 2 a node, over processes", more))
    drawn = [Panel("", tuple(lines), "%", "count") for _, lines in panels]
    looks = drawing.looks(drawn)
    captions = (caption for caption, _ in panels)
    pictures = [(caption, drawing.panel(panel, looks)) for caption, panel in zip(captions, drawn, strict=True)]
    drawing.save(path, drawing.document("LAMMPS over the nodes and the processes of three clusters", pictures, looks))


def tables(found):
    """Return the tables of the documentation, line by line."""
    lines = []
    for ranks_alike, what in ((True, "processes"), (False, "nodes")):
        counts = RANKS[1:-1] if ranks_alike else RANKS[:-1]
        titles = [f"{count} {what}" if count > 1 else f"1 {what[:-1]}" for count in counts]
        heads = ["problem", "processors", "cluster", *titles]
        lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for problem, speed, name in product(PROBLEMS, found[PROBLEMS[0]], TWINS):
            values = gaps(found[problem][speed][name], ranks_alike)
            cells = [f"{values[count]:+.1f}" if count in values else "" for count in counts]
            lines.append(f"| {problem} | {speed} | {name} | {' | '.join(cells)} |")
    return lines


def why():
    """Print how much longer 8 nodes with two processes take than 16 with one, on twins that lack something."""
    with tempfile.TemporaryDirectory() as folder:
        for (problem, traces), name in product(unpacked(Path(folder)).items(), ("cbc", "red-squall")):
            twin = shipped(name)
            within = replace(twin.intra_node, rate_MBps=1e4, several_MBps=None)
            no_bus = replace(twin, host_bus=HostBus(None, None))
            fast = replace(twin.inter_node, rate_MBps=1e4)
            for what, each in (
                ("as it is", twin),
                ("no bus", no_bus),
                ("no bus, 10 GB/s between nodes", replace(no_bus, inter_node=fast)),
                ("10 GB/s within a node", replace(twin, intra_node=within)),
                ("no bus, 10 GB/s between nodes and within", replace(no_bus, inter_node=fast, intra_node=within)),
            ):
                (series,) = replay_series.run({16: traces[16]}, [(what, each)], (1, 2), 1, Bounds())
                print(f"{problem} on {name}, {what}: {series.spread_percent(Layout(8, 2)):+.1f} %", flush=True)


def main(what, *folder):
    """Do one of what the head of this file lists."""
    if what == "replay":
        found = replayed()
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
        draw(found, ROOT / "docs" / "section6.svg")
        print("\n".join(tables(found)))
    elif what == "why":
        why()
    else:
        {"trace": trace, "keep": keep}[what](Path(*folder))


if __name__ == "__main__":
    if len(sys.argv) != {"trace": 3, "keep": 3, "replay": 2, "why": 2}.get(sys.argv[1] if sys.argv[1:] else ""):
        sys.exit(__doc__)
    main(*sys.argv[1:])
