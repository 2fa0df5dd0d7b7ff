# SPDX-License-Identifier: BSD-3-Clause
"""No check passes on an output that is broken: every check class, every kind of damage."""

import re

import pytest

from fabric_checks.errors import OutputError
from fabric_checks.parsers import osu
from tests import breakages, loading
from tests.checks import everything
from tests.conftest import GOLDEN

#: Our own programs: the golden output of a check, and the columns of its table that hold what is measured.
OWN = {
    "BufferReuse": (lambda _: "buffer_reuse/mpich-5.0.2.txt", [2, 7]),
    "CollectiveOverlap": (lambda _: "collective_overlap/mpich-5.0.2.txt", [1, 2]),
    "HotSpot": (lambda _: "hot_spot/mpich-5.0.2.txt", [2, 7]),
    "Notification": (lambda _: "notification/mpich-5.0.2.txt", [1, 6]),
    "Overlap": (lambda _: "overlap/mpich-5.0.2.txt", [1, 2]),
    "Rotate": (lambda check: f"rotate/mpich-5.0.2{ROTATE[check.pattern]}.txt", [3]),
    "Streaming": (lambda _: "streaming/mpich-5.0.2.txt", [1, 6, 11, 16]),
    "StreamingQueue": (lambda check: f"streaming/mpich-5.0.2.queue-{check.queue_depth}.txt", [1, 6, 11, 16]),
}
ROTATE = {"rotate": "", "shift": ".shift", "bisection": ".bisection"}


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
        # Every benchmark was run with a fence; what else another synchronisation changes is its name in the header.
        asked = osu.SYNCHRONISATIONS[check.synchronisation]
        return (GOLDEN / f"{name}.fence.txt").read_text().replace("MPI_Win_fence", asked)
    if check.benchmark == "latency_persistent":
        name += ".all"
    text = (GOLDEN / f"{name}.txt").read_text()
    return text + ("launch_to_end_ns: 123456789\n" if check.benchmark == "hello" else "")


def imb_output(check):
    """Return a golden output of IMB."""
    name, program = check.benchmark, check.imb_program
    if program == "IMB-P2P":
        name = f"P2P.{name}" + (".1MiB" if check.num_tasks == 2 else f".{check.num_tasks}")
    elif program in ("IMB-NBC", "IMB-RMA") and len(check.sizes_B) > 1:
        name += ".1MiB"
    return (GOLDEN / f"imb/2021.11/{name}.txt").read_text()


def healthy_output(check):
    """Return a golden output of the program that a check runs."""
    kind = type(check).__name__
    if kind.startswith("Osu") and check.program["program"] == "osu":
        return osu_output(check)
    if kind.startswith("Osu"):
        return (GOLDEN / f"osu-py/4.1.2/osu_{check.benchmark}.txt").read_text()
    if kind.startswith("Imb"):
        return imb_output(check)
    if kind == "NpbKernel":
        return (GOLDEN / f"npb/3.4/{check.kernel}.{check.problem_class}.2.txt").read_text()
    if kind == "LammpsScaled":
        return (GOLDEN / f"lammps/22Jul2025/{check.problem}.scaled2.2.txt").read_text()
    if kind == "LammpsBench":
        return (GOLDEN / f"lammps/22Jul2025/{check.problem}.{check.num_tasks}.txt").read_text()
    if kind in OWN:
        return (GOLDEN / OWN[kind][0](check)).read_text()
    raise AssertionError(f"no golden output for {kind}: add one, so that its silent passes are tested")


def value_columns(check):
    """Return the columns of its table that hold what a check measures."""
    kind = type(check).__name__
    if kind in OWN:
        return OWN[kind][1]
    if kind.startswith("Imb"):
        if check.benchmark in ("One_put_all", "One_get_all", "Put_all_local", "Get_all_local"):
            return [2]
        return IMB_COLUMNS.get(kind, [2, 3, 4])
    if kind.startswith("Osu") and check.program["program"] == "osu":
        return OSU_COLUMNS.get(kind, [1])
    return [1]


def broken_outputs(check, text):
    """Return broken variants of an output, by name."""
    kind = type(check).__name__
    if kind.startswith("Lammps"):
        return breakages.of_lammps(text)
    if "MODE: " in text:
        # Two tables: break the first.
        second = text.index("# Benchmarking", text.index("MODE: "))
        first = breakages.of_table(text[:second], value_columns(check))
        return {name: broken + text[second:] for name, broken in first.items()}
    if kind in REPORTS:
        return of_report(text, REPORTS[kind])
    return breakages.of_table(text, value_columns(check))


#: Programs that print no table: patterns of the figures in their reports.
REPORTS = {
    "OsuInit": [r"(?<=min: )\d+", r"(?<=avg: )\d+", r"(?<=max: )\d+", r"(?<=nprocs: )\d+"],
    "NpbKernel": [
        rf"(?<={figure} =) *\S+"
        for figure in ("Time in seconds", "Mop/s total    ", "Mop/s/process  ", "Total processes")
    ],
    "OsuHello": [r"(?<=launch_to_end_ns: )\d+", r"(?<=with )\d+"],
}


def of_report(text, figures):
    """Return broken variants of an output that holds single figures, by name."""
    middle = text.index("\n", len(text) // 3)
    broken = {
        "empty": "",
        "the first third": text[:middle],
        "without its first third": text[middle:],
        "printed twice": text + text,
    }
    for figure in figures:
        for name, cell in (("NaN", "nan"), ("infinity", "inf"), ("zero", "0"), ("a negative value", "-1"), ("no", "")):
            broken[f"{name} for {figure}"] = re.sub(
                figure, f" {cell}" if figure.endswith("S+") else cell, text, count=1
            )
    return broken


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
        patch.setenv("FABRIC_MPI", "mpich")
        found = [case.check for case in loading.cases("local") if not case.check.is_fixture()]
        for check in found:
            check.one_rank_loop_time_s = 1.0  # what the case it depends on would have measured
        # The other inputs on one process have no golden output; their form is that of lj.
        found = [c for c in found if type(c).__name__ != "LammpsBench" or c.num_tasks == 2 or c.problem == "lj"]
        # What the wheels do not offer, on two processes of a system that offers everything.
        offered = {(type(check).__name__, getattr(check, "benchmark", "")) for check in found}
        rich = [case.check for case in everything.cases(patch) if case.partition.name == "cpu"]
        for check in rich:
            check.one_rank_loop_time_s = check.one_node_loop_time_s = 1.0
        elsewhere = {"OsuCongestion": "2x1", "LammpsScaled": "2x1", "ImbStencil2D": "2x2"}
        rich = [check for check in rich if str(check.place) == elsewhere.get(type(check).__name__, "1x2")]
        yield found + [c for c in rich if (type(c).__name__, getattr(c, "benchmark", "")) not in offered]


def test_healthy_outputs_give_every_declared_metric(checks):
    classes = set()
    for check in checks:
        values = check.measure(healthy_output(check))
        assert set(values) == {metric.name for metric in check.metrics()}, check.display_name
        assert all(isinstance(value, float | int) for value in values.values())
        classes.add(type(check).__name__)
    assert classes == {
        "OsuLatency",
        "OsuMultiLatency",
        "OsuBandwidth",
        "OsuCollective",
        "OsuBarrier",
        "OsuPersistentBarrier",
        "OsuMessageRate",
        "OsuConcurrentLatency",
        "OsuPersistentLatency",
        "OsuPersistentBandwidth",
        "OsuNonBlocking",
        "OsuNonBlockingBarrier",
        "OsuOneSidedLatency",
        "OsuOneSidedAtomic",
        "OsuOneSidedBandwidth",
        "OsuOneSidedBothWays",
        "OsuCongestion",
        "OsuInit",
        "OsuHello",
        "ImbSource",
        "ImbBand",
        "ImbNonBlocking",
        "ImbNonBlockingBarrier",
        "ImbOneSided",
        "ImbAtomic",
        "ImbOneSidedGroup",
        "ImbPassiveTarget",
        "ImbAllPairs",
        "ImbStencil2D",
        "LammpsScaled",
        "NpbKernel",
        "ImbPointToPoint",
        "ImbParallel",
        "ImbCollective",
        "ImbBarrier",
        "LammpsBench",
        *OWN,
    }


def test_broken_outputs_are_refused(checks):
    tried = 0
    for check in checks:
        text = healthy_output(check)
        for name, output in broken_outputs(check, text).items():
            assert output != text, name
            with pytest.raises(OutputError) as caught:
                check.measure(output)
                pytest.fail(f"{check.display_name} passed with {name}")
            assert "\n" not in str(caught.value)
            tried += 1
    assert tried > 300


def test_the_output_of_another_program_is_refused(checks):
    texts = {type(check).__name__: healthy_output(check) for check in checks}
    for check in checks:
        own = type(check).__name__
        for kind, text in texts.items():
            if kind != own:
                with pytest.raises(OutputError):
                    check.measure(text)
                    pytest.fail(f"{check.display_name} passed on the output of {kind}")


def test_lammps_with_wrong_physics_is_refused(checks):
    for check in checks:
        if type(check).__name__ == "LammpsBench" and check.problem == "lj":
            text = healthy_output(check).replace("0.7574531 ", "0.7575531 ")
            with pytest.raises(OutputError, match="wrong physics: Temp"):
                check.measure(text)
