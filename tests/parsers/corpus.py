# SPDX-License-Identifier: BSD-3-Clause
"""Whole outputs for every parser, each with the options of its run; mutations begin with them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fabric_checks.core.metrics import half_octaves
from fabric_checks.matrices import clusterkit, mpigraph, nccl_tests, perftest
from fabric_checks.matrices import plain as csv
from fabric_checks.parsers import (
    buffer_reuse,
    fabric,
    hot_spot,
    imb,
    lammps,
    latency_map,
    notification,
    npb,
    osu,
    overlap,
    placement,
    plain,
    rotate,
    streaming,
)
from tests import breakages
from tests.conftest import GOLDEN
from tests.matrices import samples
from tests.own_outputs import summed

MiB = 1024**2
PLACEMENT = summed("""\
# fabric-checks placement 1
# mpi: MPICH Version:      5.0.2
# compiler: gcc 12.2.0
# ranks: 3
# columns: rank host node cpu cpus cores online
0 hosta - 0 0-1 0:0,0:1 0-3,8
1 hosta n2 1 1 - -
2 hostb n3 4 4-5,7 1:2,1:3 0-7
# complete: 3 rows
""")


@dataclass(frozen=True)
class Whole:
    """An output that is whole.

    :param name: what it is called in messages of tests.
    :param text: what the program printed.
    :param parse: the parser, with all that was asked for; it takes the text.
    """

    name: str
    text: str
    parse: Callable[[str], object]


def sizes_of(text):
    """Read the sizes off an output, independently of the parser: the first field of each row."""
    return [
        int(line.split()[0]) for line in text.splitlines() if breakages.is_row(line)
    ]


def osu_outputs():
    """Return the tables of OSU and of its ports."""
    for path in sorted((GOLDEN / "osu").rglob("*.txt")) + sorted(
        (GOLDEN / "osu-py").rglob("*.txt")
    ):
        benchmark, *variant = path.stem.removeprefix("osu_").split(".")
        if f"{path.parent.parent.name}-{benchmark}" == "osu-py-alltoallv":
            continue  # its title is none that the parser knows
        if benchmark in osu.TITLES and not {"1rank", "killed", "vary"} & set(variant):
            text = path.read_text()
            sizes = [0] if "barrier" in benchmark else sizes_of(text)
            yield Whole(
                _name(path),
                text,
                partial(osu.parse, benchmark=benchmark, sizes_B=sizes),
            )


def start_up_outputs():
    """Return the outputs of OSU's start-up benchmarks."""
    for path in sorted((GOLDEN / "osu").rglob("osu_init.txt")):
        yield Whole(_name(path), path.read_text(), partial(osu.parse_init, processes=2))
    for path in sorted((GOLDEN / "osu").rglob("osu_hello.txt")):
        text = path.read_text() + "launch_to_end_ns: 123456789\n"
        yield Whole(_name(path), text, partial(osu.parse_hello, processes=2))


def imb_outputs():
    """Return the blocks of IMB, each with its whole output."""
    for path in sorted((GOLDEN / "imb").rglob("*.txt")):
        if any(word in path.name for word in ("timeout", "multi", "refused")):
            continue
        text = path.read_text()
        program = next(
            name for name, part in imb.PARTS.items() if f", {part} part" in text
        )
        starts = [match.start() for match in re.finditer(r"(?m)^# Benchmarking ", text)]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            block = text[start:end]
            benchmark = block.split()[2]
            processes = int(re.search(r"#processes = (\d+)", block)[1])
            mode = re.search(r"MODE: (\S+)", block)
            rows = re.findall(r"(?m)^ +(\d+) +(?:\d|time)", block)
            sizes = (
                [0] if "barrier" in benchmark.lower() else [int(size) for size in rows]
            )
            asked = {"benchmark": benchmark, "sizes_B": sizes, "processes": processes}
            asked |= {"program": program, "mode": mode[1] if mode else None}
            yield Whole(
                f"{_name(path)}-{processes}-{asked['mode']}",
                text,
                partial(imb.parse, **asked),
            )


def lammps_asked(name):
    """Return what was asked of LAMMPS, by the name of its output."""
    atoms = 64000 if "scaled2" in name else 32000
    return {"processes": int(name.split(".")[-1]), "steps": 100, "atoms": atoms}


def lammps_outputs():
    """Return the outputs of LAMMPS."""
    for path in sorted((GOLDEN / "lammps").rglob("*.txt")):
        if "killed" not in path.name:
            yield Whole(
                _name(path),
                path.read_text(),
                partial(lammps.parse, **lammps_asked(path.stem)),
            )


def npb_outputs():
    """Return the outputs of NPB whose times are not rounded to nothing."""
    for path in sorted((GOLDEN / "npb").rglob("*.txt")):
        benchmark, problem_class, processes = path.stem.split(".")
        if problem_class != "S":
            asked = {
                "benchmark": benchmark,
                "problem_class": problem_class,
                "processes": int(processes),
            }
            yield Whole(_name(path), path.read_text(), partial(npb.parse, **asked))


def streaming_outputs():
    """Return the outputs of our program streaming."""
    for path in sorted((GOLDEN / "streaming").rglob("*.txt")):
        queue = re.search(r"queue-(\d+)", path.name)
        asked = {"directions": "both", "queue_depth": int(queue[1]) if queue else 0}
        yield Whole(
            _name(path),
            path.read_text(),
            partial(streaming.parse, sizes_B=half_octaves(0, 4 * MiB), **asked),
        )


def hot_spot_outputs():
    """Return the outputs of our program hot_spot."""
    for name, ranks in (("mpich-5.0.2", 2), ("mpich-5.0.2.5ranks", 5)):
        asked = {
            "sizes_B": fabric.multiples(8, 65536, 8),
            "slaves": hot_spot.slave_counts(ranks),
        }
        yield Whole(
            name, _golden(f"hot_spot/{name}.txt"), partial(hot_spot.parse, **asked)
        )


def rotate_outputs():
    """Return the outputs of our program rotate."""
    for path in sorted((GOLDEN / "rotate").rglob("*.txt")):
        yield Whole(_name(path), path.read_text(), partial(rotate.parse))


def one_output(program, parse):
    """Return a function that gives the one output of a program, which measures message sizes."""

    def outputs():
        text = _golden(f"{program}/mpich-5.0.2.txt")
        yield Whole(program, text, partial(parse, sizes_B=sorted(set(sizes_of(text)))))

    return outputs


def pair_outputs(reader, *texts):
    """Return a function that gives the samples of a format of pair tables."""
    return lambda: [
        Whole(f"{reader.NAME}-{number}", text, partial(_cleaned, reader))
        for number, text in enumerate(texts)
    ]


def _cleaned(reader, text):
    return reader.parse(plain.cleaned(text))


#: The outputs, by parser.
OUTPUTS = {
    "osu": osu_outputs,
    "start-up": start_up_outputs,
    "imb": imb_outputs,
    "lammps": lammps_outputs,
    "npb": npb_outputs,
    "streaming": streaming_outputs,
    "overlap": one_output("overlap", overlap.parse),
    "collective_overlap": one_output("collective_overlap", overlap.parse_collectives),
    "hot_spot": hot_spot_outputs,
    "latency_map": lambda: [
        Whole(
            "mpich-5.0.2",
            _golden("latency_map/mpich-5.0.2.txt"),
            partial(latency_map.parse),
        )
    ],
    "buffer_reuse": one_output("buffer_reuse", buffer_reuse.parse),
    "notification": one_output("notification", notification.parse),
    "rotate": rotate_outputs,
    "placement": lambda: [Whole("placement", PLACEMENT, partial(placement.parse))],
    "nccl-tests": pair_outputs(nccl_tests, samples.NCCL),
    "mpigraph": pair_outputs(mpigraph, samples.MPIGRAPH),
    "perftest": pair_outputs(perftest, samples.PERFTEST, samples.PERFTEST_LATENCY),
    "clusterkit": pair_outputs(clusterkit, samples.CLUSTERKIT),
    "csv": pair_outputs(csv, samples.CSV_ROWS, samples.CSV_MATRIX),
}


def _golden(name):
    return (GOLDEN / name).read_text()


def _name(path):
    return str(path.relative_to(GOLDEN).with_suffix(""))
