# SPDX-License-Identifier: BSD-3-Clause
"""From records to values."""

import math

import polars as pl
import pytest

from fabric_checks.report.collection import collect, with_machines
from tests.report import records
from tests.report.records import record


def collected(rows):
    return collect(records.frame(rows))


def test_runs_of_a_series_are_one_value():
    rows = [
        row
        for day, factor in enumerate((1.0, 3.0, 2.0, 8.0))
        for row in records.later([record()], day, factor)
    ]
    (value,) = collected(rows).values
    assert value.median == 2.5
    assert [run[2] for run in value.runs] == [1.0, 3.0, 2.0, 8.0]
    assert [run[1][:8] for run in value.runs] == [
        "20261101",
        "20261102",
        "20261103",
        "20261104",
    ]


def test_the_same_metric_in_two_units_is_two_values():
    units = {
        value.unit
        for value in collected([record(), record(value=1000.0, unit="s")]).values
    }
    assert units == {"us", "s"}


def test_what_is_no_finite_number_is_no_value():
    assert [
        v.median
        for v in collected([record(value=math.nan), record("other", 2.0)]).values
    ] == [2.0]


@pytest.mark.parametrize(
    "keys, names",
    [
        ([("a", "oak", "compute", "mpich")], ["oak"]),
        (
            [("a", "oak", "compute", "mpich"), ("a", "oak", "gpu", "mpich")],
            ["oak:compute", "oak:gpu"],
        ),
        (
            [("a", "twins", "cbc", "smpi"), ("a", "twins", "escher", "smpi")],
            ["cbc", "escher"],
        ),
        ([("a", "cbc", "twin", "smpi")], ["cbc"]),
        (
            [("a", "oak", "compute", "impi"), ("a", "oak", "compute", "mpich")],
            ["oak, impi", "oak, mpich"],
        ),
        (
            [("a", "oak", "compute", "mpich"), ("b", "oak", "compute", "mpich")],
            ["a: oak", "b: oak"],
        ),
        (
            [("a", "oak", "compute", "mpich"), ("b", "elm", "compute", "mpich")],
            ["oak", "elm"],
        ),
        ([("a", "", "", "")], ["(no name)"]),
    ],
)
def test_names_of_machines(keys, names):
    frame = pl.DataFrame(keys, ["side", "system", "partition", "environ"], orient="row")
    assert with_machines(frame)["machine"].to_list() == names


def test_the_last_run_is_judged():
    judged = {"reference": 1.0, "upper": 0.1, "no_reference": None}
    first, last = (
        record(**judged, result="fail"),
        records.later([record(**judged)], 1)[0],
    )
    assert collected([first, last]).values[0].verdict == "met"
    assert (
        collected([last | {"time": first["time"]}, first | {"time": last["time"]}])
        .values[0]
        .verdict
        == "missed"
    )


@pytest.mark.parametrize(
    "result, judged, verdict",
    [
        ("pass", {"no_reference": None}, "met"),
        ("fail", {"no_reference": None}, "missed"),
        ("xfail", {"no_reference": None}, "expected miss"),
        ("xpass", {"no_reference": None}, "unexpectedly met"),
        ("pass", {"reference": 0.0}, ""),
    ],
)
def test_verdicts(result, judged, verdict):
    (value,) = collected(
        [record(result=result, **({"reference": 1.0} | judged))]
    ).values
    assert value.verdict == verdict


def test_cases_are_those_of_the_last_run():
    def ends(*rows):
        return [case.result for case in collected(rows).last.cases]

    lost = records.failure(layout="8x1")
    assert ends(record(), lost, *records.later([record(layout="8x1")], 1)) == [
        "pass",
        "pass",
    ]
    assert sorted(ends(record(), *records.later([lost], 1))) == ["fail", "pass"]
