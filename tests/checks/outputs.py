# SPDX-License-Identifier: BSD-3-Clause
"""For every check class a golden output of its program, and the ways to break it."""

import re

from fabric_checks.analysis import ppn_ratio
from fabric_checks.parsers import osu
from tests import breakages
from tests.conftest import GOLDEN
from tests.parsers import dyna


def comparison(check):
    """Tell whether a check compares several launches."""
    return type(check).__name__.endswith((ppn_ratio.SUFFIX, "PpnSeries"))


def kind_of(check):
    """Return the name of a check's class; of a comparison's, that of the check whose launches it compares."""
    return type(check).__name__.removesuffix(ppn_ratio.SUFFIX)


#: Our own programs: the golden output of a check, and the columns of its table that hold what is measured.
OWN = {
    "BufferReuse": (lambda _: "buffer_reuse/mpich-5.0.2.txt", [2, 7]),
    "CollectiveOverlap": (lambda _: "collective_overlap/mpich-5.0.2.txt", [1, 2]),
    "HotSpot": (lambda _: "hot_spot/mpich-5.0.2.txt", [2, 7]),
    "LammpsReplay": (
        lambda check: f"replay/{check.problem}.{check.layout}.txt",
        [2, 3],
    ),
    "LatencyMap": (lambda _: "latency_map/mpich-5.0.2.txt", [4, 5]),
    "Notification": (lambda _: "notification/mpich-5.0.2.txt", [1, 6]),
    "Overlap": (lambda _: "overlap/mpich-5.0.2.txt", [1, 2]),
    "Rotate": (lambda check: f"rotate/mpich-5.0.2{ROTATE[check.pattern]}.txt", [3]),
    "RotateOnDevice": (lambda _: "rotate/mpich-5.0.2.stand-in-cuda.txt", [3]),
    "Streaming": (lambda _: "streaming/mpich-5.0.2.txt", [1, 6, 11, 16]),
    "StreamingQueue": (
        lambda check: f"streaming/mpich-5.0.2.queue-{check.queue_depth}.txt",
        [1, 6, 11, 16],
    ),
}
ROTATE = {
    "rotate": "",
    "shift": ".shift",
    "bisection": ".bisection",
    "round-robin": ".round-robin",
}


#: The columns of OSU's tables that hold what is measured, where it is not only the one after the size.
OSU_COLUMNS = {
    "OsuNonBlocking": [1, 2, 3],
    "OsuNonBlockingBarrier": [0, 1, 2],
    "OsuMessageRate": [1, 2],
    "OsuBarrier": [0],
    "OsuPersistentBarrier": [0],
}


IMB_COLUMNS = {
    "ImbBarrier": [1, 2, 3],
    "ImbNonBlockingBarrier": [1, 2, 3],
    "ImbPointToPoint": [2, 3],
    "ImbSource": [2, 3],
    "ImbBand": [2, 3],
    "ImbOneSided": [2, 3],
    "ImbAtomic": [2, 3],
    "ImbPassiveTarget": [2, 3],
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
    if program == "IMB-P2P":
        name = f"P2P.{name}" + (
            ".1MiB" if check.num_tasks == 2 else f".{check.num_tasks}"
        )
    elif program in ("IMB-NBC", "IMB-RMA") and len(check.rows_B) > 1:
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
    if kind.startswith("MppDyna"):
        return dyna.output(check.num_tasks)
    if kind == "LammpsScaled":
        return (GOLDEN / f"lammps/22Jul2025/{check.problem}.scaled2.2.txt").read_text()
    if kind == "LammpsBench":
        return (
            GOLDEN / f"lammps/22Jul2025/{check.problem}.{check.num_tasks}.txt"
        ).read_text()
    if kind in OWN:
        return (GOLDEN / OWN[kind][0](check)).read_text()
    raise AssertionError(
        f"no golden output for {kind}: add one, so that its silent passes are tested"
    )


def value_columns(check):
    """Return the columns of its table that hold what a check measures."""
    kind = kind_of(check)
    if kind in OWN:
        return OWN[kind][1]
    if kind.startswith("Imb"):
        if check.benchmark in (
            "One_put_all",
            "One_get_all",
            "Put_all_local",
            "Get_all_local",
        ):
            return [2]
        return IMB_COLUMNS.get(kind, [2, 3, 4])
    if kind.startswith("Osu") and check.program["program"] == "osu":
        return OSU_COLUMNS.get(kind, [1])
    return [1]


def broken_outputs(check, text):
    """Return broken variants of an output, by name."""
    kind = kind_of(check)
    if kind.startswith("Lammps") and kind not in OWN:
        return breakages.of_lammps(text)
    if "MODE: " in text:
        # Two tables: break the first.
        second = text.index("# Benchmarking", text.index("MODE: "))
        first = breakages.of_table(text[:second], value_columns(check))
        return {name: broken + text[second:] for name, broken in first.items()}
    if kind in REPORTS:
        return of_report(text, REPORTS[kind])
    return breakages.of_table(text, value_columns(check))


#: Programs that print no table: patterns of the values in their reports.
DYNA = [
    rf"(?<={text})\d\S*"
    for text in (
        "Elapsed time     ",
        "Problem cycle      =     ",
        "for   ",
        "with       ",
    )
]
REPORTS = {
    "MppDyna": DYNA,
    "MppDynaDecomposition": DYNA,
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
