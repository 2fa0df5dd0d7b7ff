# SPDX-License-Identifier: BSD-3-Clause
"""Changes of series of records: size, date, state, and what else changed."""

from datetime import timedelta

import numpy as np
import pytest

from fabric_checks.analysis.statistics import change_points
from fabric_checks.comparison import changes
from fabric_checks.comparison.changes import Changes, events_of, find_changes
from fabric_checks.report import change_text as table
from tests.builders import FIRST, frame, runs


def noisy(levels, seed=3, noise=0.02):
    """Return a value a run, of levels given as (level, runs)."""
    draw = np.random.default_rng(seed)
    return [
        level * (1 + noise * draw.normal()) for level, n in levels for _ in range(n)
    ]


def found(*records, **options):
    return find_changes(frame(*records), **options)


def only(*records, **options):
    (change,) = found(*records, **options).changes
    return change


def test_a_change_has_date_size_and_confidence():
    values = noisy([(10, 20), (11, 15)])
    change = only(runs("x", values))
    assert change.at == FIRST + timedelta(days=20)
    assert change.run == 20
    assert change.n_before == 20
    assert change.n_after == 15
    assert change.median_before == np.median(
        values[:20]
    ) and change.median_after == np.median(values[20:])
    assert change.change == pytest.approx(
        100 * (change.median_after / change.median_before - 1)
    )
    assert change.noise == pytest.approx(0.02, rel=0.4)
    assert change.state == "open" and change.machine == "cluster:compute+mpich"


@pytest.mark.parametrize(
    "better, levels, states",
    [
        ("smaller", [(10, 15), (12, 15)], ["open"]),
        ("larger", [(10, 15), (12, 15)], ["better"]),
        ("smaller", [(10, 15), (12, 15), (10, 15)], ["closed", "better"]),
        ("smaller", [(10, 15), (12, 15), (11, 15)], ["open", "better"]),
        ("smaller", [(10, 15), (11, 15), (13, 15)], ["open", "open"]),
        ("larger", [(10, 15), (8, 15), (12, 15)], ["closed", "better"]),
        ("smaller", [(10, 15), (8, 15), (10, 15)], ["better", "open"]),
    ],
)
def test_states(better, levels, states):
    assert [
        change.state
        for change in found(runs("x", noisy(levels), better=better)).changes
    ] == states


def test_a_series_that_repeats_exactly():
    change = only(runs("x", [2.0] * 6 + [2.0002] * 3))
    assert change.state == "open"
    assert change.noise == 0
    assert change.change == pytest.approx(0.01)
    assert found(runs("x", [2.0] * 9)).changes == ()
    back = found(runs("x", [2.0] * 6 + [3.0] * 3 + [2.0] * 3)).changes
    assert [change.state for change in back] == ["closed", "better"]
    assert found(runs("x", [2.0] * 9)).by_chance == 0


def test_values_that_can_be_zero_change_by_a_difference():
    values = [50 + value for value in np.random.default_rng(1).normal(size=15)]
    change = only(
        runs(
            "x",
            values + [value - 10 for value in values],
            unit="%",
            better="larger",
            can_be_zero=True,
        )
    )
    assert change.by_difference
    assert change.change == pytest.approx(-10)
    faults = only(runs("x", [0.0] * 10 + [2.0] * 5))
    assert faults.by_difference
    assert faults.change == 2
    assert faults.state == "open"


def test_short_series_are_counted():
    result = found(runs("x", [1.0] * 7), runs("x", [1.0] * 8, metric="other"))
    assert result.series == 1
    assert result.too_short == 1


def test_only_changes_since_a_date_but_all_runs_are_looked_at():
    records = runs("x", noisy([(10, 20), (11, 20), (12.5, 10)]))
    every = [change.run for change in found(records).changes]
    assert every == [20, 40]
    assert found(records).by_chance == pytest.approx(0.025)
    late = found(records, since=FIRST + timedelta(days=30)).changes
    assert [change.run for change in late] == [40] and late[0].n_before == 20
    assert (
        found(records, since=FIRST + timedelta(days=40)).changes == late
    )  # the day of its first run
    assert found(records, since=FIRST + timedelta(days=41)).changes == ()


def test_records_out_of_order_and_of_several_sides_are_one_series():
    records = runs(
        "x", noisy([(10, 20), (11, 20)]), mpi=lambda run: "old" if run < 20 else "new"
    )
    shuffled = [
        record | {"side": "xy"[number % 2]} for number, record in enumerate(records)
    ]
    np.random.default_rng(1).shuffle(shuffled)
    assert only(shuffled) == only(records)
    assert [each.field for each in only(shuffled).circumstances] == ["mpi"]


def changed(**fields):
    return {
        c.field: c
        for c in only(runs("x", noisy([(10, 20), (11, 20)]), **fields)).circumstances
    }


def test_fields_that_changed_with_the_value_are_circumstances():
    switch = changed(
        mpi=lambda run: "MPICH 4.2" if run < 20 else "MPICH 4.3",
        jobid=lambda run: str(run),
    )
    assert list(switch) == ["mpi"]
    assert switch["mpi"].before == ("MPICH 4.2",)
    assert switch["mpi"].after == ("MPICH 4.3",)
    hashes = changed(
        spec_hash=lambda run: None if run < 20 else "abc",
        compiler=lambda run: f"gcc {11 + (run >= 20)}",
    )
    assert hashes["spec_hash"].before == ("none",) and hashes["compiler"].after == (
        "gcc 12",
    )


@pytest.mark.parametrize("at", [18, 22])
def test_noise_may_move_the_change_by_a_run_or_two(at):
    assert changed(mpi=lambda run: "old" if run < at else "new")["mpi"].after == (
        "new",
    )


def test_fields_equal_before_and_after_or_changed_later_are_no_circumstance():
    assert changed(mpi=lambda run: "old" if run < 25 else "new") == {}
    assert (
        changed(mpi=lambda run: ["a", "b"][run % 2])
        == changed(collection=lambda run: f"0.2+g{run}")
        == {}
    )


def test_nodes_that_came_and_went():
    draw = np.random.default_rng(3)

    def nodes(run):
        first = f"n{draw.integers(1, 9)}"
        return f'["{first}", "{"n10" if run < 20 else "n99"}"]'

    (nodes_changed,) = changed(nodelist=nodes).values()
    assert nodes_changed.field == "nodes"
    assert nodes_changed.before == ("n10",)
    assert nodes_changed.after == ("n99",)


def points(number=12, at=20, **changes):
    for size in range(number):
        shift = at if isinstance(at, int) else at(size)
        values = noisy([(10, shift), (11, 40 - shift)], seed=size)
        yield from runs("x", values, metric=f"latency_{size}B", size_B=size, **changes)


def test_series_of_a_case_that_change_together_are_one_event():
    result = found(points(mpi=lambda run: "old" if run < 20 else "new"))
    (event,) = events_of(result.changes)
    assert len(event.changes) == 12 and event.at == FIRST + timedelta(days=20)
    assert [c.field for c in event.circumstances] == ["mpi"]
    text = event.sentence()
    assert text.startswith(
        "12 series of OsuLatency 2x1 on cluster:compute+mpich from 2026-10-21 00:00: worse by "
    )
    assert text.endswith(" %: latency 12 sizes 0 .. 11 B")
    head = table.render(result, [event])[0].plain
    assert head.startswith("open    12 series of ") and head.endswith(
        " %: latency 12 sizes 0 .. 11 B"
    )


def test_a_series_that_changes_alone_is_one():
    (event,) = events_of(found(points(1)).changes)
    assert event.sentence().startswith("1 series of OsuLatency 2x1 on ")
    (two,) = events_of(found(points(2)).changes)
    assert two.sentence().startswith("2 series of ")
    assert event.metrics_text() == "latency_0B"
    other = runs("x", noisy([(10, 20), (20, 20)]), metric="m")
    (apart,) = events_of(found(runs("x", noisy([(10, 20), (11, 20)])), other).changes)
    low, high = (
        abs(change.change)
        for change in sorted(apart.changes, key=lambda change: change.metric != "x")[:2]
    )
    assert (
        f"worse by {min(low, high):.3g} to {max(low, high):.3g} %: " in apart.sentence()
    )


def test_other_cases_other_times_and_other_directions_are_other_events():
    result = found(
        points(3),
        points(3, test="Other"),
        points(3, at=30, test="Third"),
        points(3, quantity="rate", better="larger", check="C", test="Fourth"),
    )
    events = events_of(result.changes)
    assert [(e.changes[0].test, e.state, len(e.changes)) for e in events] == [
        ("Fourth", "better", 3),
        ("OsuLatency %layout=2x1", "open", 3),
        ("Other", "open", 3),
        ("Third", "open", 3),
    ]


@pytest.mark.parametrize("later, events", [(2, 1), (3, 2), (10, 2)])
def test_changes_of_a_case_that_are_many_runs_apart_are_two_events(later, events):
    def values(at):
        return noisy([(10, at), (12, 45 - at)])

    result = found(runs("x", values(15)), runs("x", values(15 + later), metric="other"))
    assert len(result.changes) == 2 and len(events_of(result.changes)) == events


@pytest.mark.parametrize("by_chance, text", [(0.9, "less than 1"), (1.6, "about 2")])
def test_the_number_of_chance_changes_is_printed(by_chance, text):
    lines = table.counts(Changes((), 100, 0, by_chance), [])
    assert (
        lines[1]
        == f"if nothing had changed, {text} of the series would show a change by chance"
    )


@pytest.mark.parametrize("now, state", [(1.70, "closed"), (1.85, "open")])
def test_a_change_is_open_beyond_two_errors_of_the_medians(now, state):
    """Of four and four runs with a noise of 1 the error is sqrt(pi / 2 x (1/4 + 1/4)), 0.886."""
    split = change_points.Split((4,), 1.0, in_shares=False)
    old, new, last = np.zeros(4), np.full(4, 9.0), np.full(4, now)
    assert changes._state(old, new, last, {"better": "smaller"}, split) == state
    assert changes._state(old, -new, -last, {"better": "larger"}, split) == state


def test_circumstances_of_few_runs_count_where_two_thirds_agree():
    between = changes.circumstances_between
    assert [
        each.field for each in between({"mpi": ["a", "a", "b", "b", "b"]}, 0, 3, 5)
    ] == ["mpi"]
    assert between({"mpi": ["a", "b", "b", "b"]}, 0, 2, 4) == ()
