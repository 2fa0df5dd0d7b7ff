# SPDX-License-Identifier: BSD-3-Clause
"""One process a node against more: which checks have a comparison, the job that it runs, and what it makes of
it."""

from pathlib import Path

import pytest
from reframe.core.exceptions import SanityError

from fabric_checks.core.layouts import Layout
from fabric_checks.reframe_ext.mixins import ProgramMixin
from tests.breakages import refused
from tests.checks import everything
from tests.checks.outputs import broken_outputs, comparison, healthy_output, kind_of
from tests.conftest import GOLDEN

WITHOUT = {
    # LAMMPS is compared over all numbers of nodes, by LammpsPpnSeries.
    "LammpsBench",
    "LammpsScaled",
    "LammpsPpnSeries",
    # These need four processes at least, and so for a counterpart more nodes than `rich` has.
    "OsuNeighbourhood",
    "OsuNonBlockingNeighbourhood",
}


@pytest.fixture(scope="module")
def rich(of_module):
    """Return the checks of a system that offers everything, on its partition of two nodes of two cores."""
    return [
        case.check
        for case in everything.cases(of_module)
        if case.partition.name == "cpu"
    ]


@pytest.fixture
def on_two_processes(rich):
    """Return every comparison of a node's two processes with those of two nodes: all outputs are of two
    processes."""
    return [
        check
        for check in rich
        if comparison(check) and list(map(str, check.launches)) == ["2x1", "1x2"]
    ]


def test_every_check_has_a_comparison(rich):
    several = {kind_of(check) for check in rich if check.current_layout.ppn > 1}
    assert {kind_of(check) for check in rich if comparison(check)} - {
        "LammpsPpnSeries"
    } == several - WITHOUT


def test_what_is_compared_with_what(rich):
    pairs = {}
    for check in rich:
        if comparison(check) and type(check).__name__ != "LammpsPpnSeries":
            pairs.setdefault(kind_of(check), set()).add(tuple(map(str, check.launches)))
    assert pairs["OsuLatency"] == {("2x1", "1x2")}
    assert pairs["ImbCollective"] == {("2x1", "1x2"), ("2x1", "2x2")}
    assert pairs["OsuMessageRate"] == {("2x1", "1x2"), ("2x1", "2x2")}
    assert pairs["OsuInit"] == {("1x1", "1x2"), ("2x1", "2x2")}
    lj = the_only(rich, "LammpsPpnSeries", "2x2", problem="lj", scaling="fixed")
    assert list(map(str, lj.launches)) == ["1x1", "1x2", "2x1", "2x2"]


def prepared(check):
    """Return the lines of a check's job that start programs."""
    for hook in ("probe_placement", "wrap_launch"):
        getattr(check, hook)()
    return [
        *check.prerun_cmds,
        " ".join([check.executable, *check.executable_opts]),
        *check.postrun_cmds,
    ]


def the_only(checks, kind, layout="1x2", **values):
    (check,) = (
        check
        for check in checks
        if (type(check).__name__, check.layout) == (kind, layout)
        and all(getattr(check, name) == value for name, value in values.items())
    )
    return check


def test_the_job_has_room_for_both_launches_and_starts_each_in_its_layout(rich):
    check = the_only(rich, "OsuLatencyPpnRatio", memory="host")
    assert check.num_tasks == 4
    assert check.num_tasks_per_node == 2
    probe = check.placement_probe.split()[0]
    apart, together = (
        f"{check.ports_program} --output ports-{layout} --" for layout in ("2x1", "1x2")
    )
    assert prepared(check) == [
        f"mpirun -np 2 -ppn 1 {probe} --nodes 2 --ppn 1 > placement-2x1.txt || exit $?",
        (
            f"{{ mpirun -np 2 -ppn 1 {apart} /osu/pt2pt/osu_latency -m 1:4194304; }} > launch-2x1.out ||"
            " exit $?"
        ),
        f"mpirun -np 2 -ppn 2 {probe} --nodes 1 --ppn 2 > placement-1x2.txt || exit $?",
        f"mpirun -np 2 -ppn 2 {together} /osu/pt2pt/osu_latency -m 1:4194304",
    ]
    # ReFrame puts nothing of its own before the last of these.
    assert check.job.launcher.run_command(check.job) == ""
    assert check.time_limit == 2 * 600


def output(check):
    """Return a golden output of one of a comparison's launches on two processes."""
    with check.launched_in(Layout(1, 2)):
        return healthy_output(check)


def measured(check, first, last):
    """Return what a comparison makes of two outputs."""
    (Path(check.stagedir) / "launch-2x1.out").write_text(first)
    return check.measure(last)


def test_every_metric_of_every_check_is_compared(on_two_processes):
    assert len({kind_of(check) for check in on_two_processes}) > 25
    for check in on_two_processes:
        text = output(check)
        values = measured(check, text, text)
        assert set(values) == {metric.name for metric in check.metrics()}, (
            check.display_name
        )
        with check.launched_in(Layout(1, 2)):
            assert len(values) == len(check.metrics())
        for metric in check.metrics():
            assert values[metric.name] == (0 if metric.can_be_zero else 1)
        for name in values:
            assert set(check.facts.metrics[name].compared["values"]) == {"2x1", "1x2"}


def test_the_ratio_is_of_the_layout_to_its_counterpart(on_two_processes):
    check = the_only(on_two_processes, "ImbPointToPointPpnRatio", benchmark="PingPong")
    text = output(check)
    row = next(line for line in text.splitlines() if line.split()[:1] == ["4194304"])
    size, repetitions, time, bandwidth = row.split()
    slow = text.replace(
        row, f"{size} {repetitions} {2 * float(time):.2f} {float(bandwidth) / 2:.2f}"
    )
    values = measured(check, text, slow)
    assert values["time_ratio_4194304B"] == pytest.approx(2, rel=1e-3)
    assert values["time_ratio_0B"] == 1
    compared = check.facts.metrics["time_ratio_4194304B"].compared
    assert compared["metric"] == "time_4194304B"
    assert compared["unit"] == "us"
    assert compared["values"] == {
        "2x1": float(time),
        "1x2": pytest.approx(2 * float(time), rel=1e-3),
    }


def test_a_broken_first_launch_is_refused_and_named(on_two_processes):
    tried = 0
    for check in on_two_processes:
        text = output(check)
        for name, broken in list(broken_outputs(check, text).items())[:3]:
            with refused("the launch 2x1: "):
                measured(check, broken, text)
                pytest.fail(f"{check.display_name} passed with {name}")
            with refused("the launch 1x2: "):
                measured(check, text, broken)
                pytest.fail(f"{check.display_name} passed with {name}")
            tried += 1
    assert tried > 75


def test_a_first_launch_that_left_nothing_is_refused(on_two_processes):
    check = the_only(on_two_processes, "OsuLatencyPpnRatio", memory="host")
    text = output(check)
    (Path(check.stagedir) / "launch-2x1.out").unlink(missing_ok=True)
    (Path(check.stagedir) / str(check.stdout)).write_text(text)
    with pytest.raises(SanityError, match=r"launch-2x1\.out: No such file"):
        check.measure(text)


def test_the_placement_of_each_launch_is_verified(on_two_processes, monkeypatch):
    check = the_only(on_two_processes, "OsuLatencyPpnRatio", memory="host")
    check.reader = []

    def verify(_):
        check.reader.append((str(check.current_layout), check.probe_output))

    monkeypatch.setattr(ProgramMixin, "verify_placement", verify)
    check.verify_placement()
    assert check.reader == [("2x1", "placement-2x1.txt"), ("1x2", "placement-1x2.txt")]


def test_a_series_over_the_nodes(rich):
    check = the_only(rich, "LammpsPpnSeries", "2x2", problem="lj", scaling="fixed")
    one, two = (
        (GOLDEN / f"lammps/22Jul2025/lj.{count}.txt").read_text() for count in (1, 2)
    )
    four = (
        two.replace("on 2 procs", "on 4 procs")
        .replace("2 MPI tasks", "4 MPI tasks")
        .replace("1 by 1 by 2", "1 by 2 by 2")
        .replace(
            "16000 ave       16001 max       15999 min",
            " 8000 ave        8001 max        7999 min",
        )
        .replace("Histogram: 1 0 0 0 0 0 0 0 0 1", "Histogram: 2 0 0 0 0 0 0 0 0 2")
    )
    stage = Path(check.stagedir)
    for layout, text in (("1x1", one), ("1x2", two), ("2x1", two)):
        (stage / f"launch-{layout}.out").write_text(text)
    values = check.measure(four)
    assert set(values) == {metric.name for metric in check.metrics()}
    assert values["loop_time_1x2"] == values["loop_time_2x1"]
    assert (
        check.facts.metrics["ppn_gap_1x2"].compared["values"]["1x1"]
        == values["loop_time_1x1"]
    )
    with refused("the launch 2x2: "):
        check.measure(two)
