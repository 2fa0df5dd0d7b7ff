# SPDX-License-Identifier: BSD-3-Clause
"""For every check class a golden output of its program, and the ways to break it."""

import re

from fabric_checks.analysis import ppn_ratio
from fabric_checks.parsers import osu
from tests import breakages
from tests.conftest import GOLDEN


def comparison(check):
    """Tell whether a check compares several launches."""
    return type(check).__name__.endswith((ppn_ratio.SUFFIX, "PpnSeries"))


def kind_of(check):
    """Return the name of a check's class; of a comparison's, that of the check whose launches it compares."""
    return type(check).__name__.removesuffix(ppn_ratio.SUFFIX)


#: Our own programs: the golden output of a check.
OWN = {
    "BufferReuse": lambda _: "buffer_reuse/mpich-5.0.2.txt",
    "CollectiveOverlap": lambda _: "collective_overlap/mpich-5.0.2.txt",
    "HotSpot": lambda _: "hot_spot/mpich-5.0.2.txt",
    "LatencyMap": lambda _: "latency_map/mpich-5.0.2.txt",
    "Notification": lambda _: "notification/mpich-5.0.2.txt",
    "Overlap": lambda _: "overlap/mpich-5.0.2.txt",
    "Rotate": lambda check: f"rotate/mpich-5.0.2{ROTATE[check.pattern]}.txt",
    "RotateOnDevice": lambda _: "rotate/mpich-5.0.2.stand-in-cuda.txt",
    "Streaming": lambda _: "streaming/mpich-5.0.2.txt",
    "StreamingQueue": lambda check: (
        f"streaming/mpich-5.0.2.queue-{check.queue_depth}.txt"
    ),
}
ROTATE = {
    "rotate": "",
    "shift": ".shift",
    "bisection": ".bisection",
    "round-robin": ".round-robin",
}


def osu_output(check):
    """Return a golden output of OSU's own programs."""
    name = f"osu/7.4/osu_{check.benchmark}"
    if hasattr(check, "synchronisation"):
        # Every benchmark was run with a fence; what else another synchronisation changes is its name in the
        # header.
        asked = osu.SYNCHRONISATIONS[check.synchronisation]
        return (
            (GOLDEN / f"{name}.fence.txt").read_text().replace("MPI_Win_fence", asked)
        )
    if check.benchmark == "latency_persistent":
        name += ".all"
    text = (GOLDEN / f"{name}.txt").read_text()
    return text + (
        "launch_to_end_ns: 123456789\n" if check.benchmark == "hello" else ""
    )


def imb_output(check):
    """Return a golden output of IMB."""
    name, program = check.benchmark, check.imb_program
    if program in ("IMB-NBC", "IMB-RMA") and len(check.rows_B) > 1:
        name += ".1MiB"
    return (GOLDEN / f"imb/2021.11/{name}.txt").read_text()


def healthy_output(check):
    """Return a golden output of the program that a check runs."""
    kind = kind_of(check)
    if kind.startswith("Osu") and check.program["program"] == "osu":
        return osu_output(check)
    if kind.startswith("Osu"):
        return (GOLDEN / f"osu-py/4.1.2/osu_{check.benchmark}.txt").read_text()
    if kind.startswith("Imb"):
        return imb_output(check)
    if kind == "NpbKernel":
        return (
            GOLDEN / f"npb/3.4/{check.kernel}.{check.problem_class}.2.txt"
        ).read_text()
    if kind == "LammpsScaled":
        return (GOLDEN / f"lammps/22Jul2025/{check.problem}.scaled2.2.txt").read_text()
    if kind == "LammpsBench":
        return (
            GOLDEN / f"lammps/22Jul2025/{check.problem}.{check.num_tasks}.txt"
        ).read_text()
    if kind in OWN:
        return (GOLDEN / OWN[kind](check)).read_text()
    raise AssertionError(
        f"no golden output for {kind}: add one, so that its silent passes are tested"
    )


def value_columns(check, text):
    """Return the columns of its table that hold what a check measures: three behind sizes and repetitions.

    A fourth one is an overlap, which may be zero.
    """
    row = next(line for line in text.splitlines() if breakages.is_row(line))
    if kind_of(check).startswith("Imb"):
        first = 1 if "barrier" in check.benchmark.lower() else 2
    else:
        first = 0 if "Barrier" in kind_of(check) else 1
    return range(first, min(first + 3, len(row.split())))


def broken_outputs(check, text):
    """Return broken variants of an output, by name."""
    kind = kind_of(check)
    if kind.startswith("Lammps") and kind not in OWN:
        return breakages.of_lammps(text)
    if "MODE: " in text:
        # Two tables: break the first.
        second = text.index("# Benchmarking", text.index("MODE: "))
        first = breakages.of_table(text[:second], value_columns(check, text))
        return {name: broken + text[second:] for name, broken in first.items()}
    if kind in REPORTS:
        return of_report(text, REPORTS[kind])
    return breakages.of_table(text, value_columns(check, text))


#: Programs that print no table: patterns of the values in their reports.
REPORTS = {
    "OsuInit": [
        r"(?<=min: )\d+",
        r"(?<=avg: )\d+",
        r"(?<=max: )\d+",
        r"(?<=nprocs: )\d+",
    ],
    "NpbKernel": [
        rf"(?<={value} =) *\S+"
        for value in (
            "Time in seconds",
            "Mop/s total    ",
            "Mop/s/process  ",
            "Total processes",
        )
    ],
    "OsuHello": [r"(?<=launch_to_end_ns: )\d+", r"(?<=with )\d+"],
}


def of_report(text, values):
    """Return broken variants of an output that holds single values, by name."""
    middle = text.index("\n", len(text) // 3)
    broken = {
        "empty": "",
        "the first third": text[:middle],
        "without its first third": text[middle:],
        "printed twice": text + text,
    }
    for value in values:
        for name, cell in (
            ("NaN", "nan"),
            ("infinity", "inf"),
            ("zero", "0"),
            ("a negative value", "-1"),
            ("no", ""),
        ):
            broken[f"{name} for {value}"] = re.sub(
                value, f" {cell}" if value.endswith("S+") else cell, text, count=1
            )
    return broken
