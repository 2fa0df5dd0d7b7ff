# SPDX-License-Identifier: BSD-3-Clause
"""Series of records, against plain Python's sorting and grouping."""

import random
from datetime import timedelta
from itertools import groupby
from statistics import median

import polars as pl
import pytest

from fabric_checks.records import series
from fabric_checks.records.record import SERIES
from fabric_checks.records.series import MACHINE, METRIC, OF_LATEST
from tests.builders import FIRST, NOTHING, failed, frame, parts, record, runs


def together(rows, *names):
    """Return rows by the values of some columns, as text, in their order."""

    def key(row):
        return tuple(str(row[name]) for name in names)

    return {shared: list(of) for shared, of in groupby(sorted(rows, key=key), key)}


@pytest.fixture
def records():
    """Return records of five series in an order of chance, with a failure among them."""
    made = [
        record(n, metric=f"m{n % 2}", unit=("us", "s")[n % 3 == 0], value=n + 0.5)
        for n in range(60)
    ]
    made += [failed(70), record(61, metric="m0", layout=None, value=61.5)]
    random.Random(1).shuffle(made)
    return frame(made)


def values_by_hand(records):
    measured = sorted(
        (row for row in records.to_dicts() if row["metric"] is not None),
        key=lambda row: row["time"],
    )
    return {
        key: [row["value"] for row in of]
        for key, of in together(measured, *SERIES).items()
    }


def values_of(found):
    return {
        tuple(str(row[name]) for name in SERIES): row["values"]
        for row in found.to_dicts()
    }


def test_a_series_has_its_values_in_the_order_of_time(records):
    found = series.series(records, each=("jobid",))
    assert values_of(found) == values_by_hand(records) and found.height == 5
    for row in found.to_dicts():
        assert row["n"] == len(row["values"]) and row["times"] == sorted(row["times"])
        assert row["jobid"] == [str(100 + int(value)) for value in row["values"]]
    assert found["layout"].null_count() == 1
    (row,) = series.series(records.filter(pl.col("layout").is_null())).to_dicts()
    assert row["quantity"] == "latency"
    assert row["better"] == "smaller"
    assert row["program"] == "x"
    assert row["evidence"] is None


def test_records_by_series_are_the_same_series(records):
    found = {
        tuple(map(str, key.values())): [row["value"] for row in rows]
        for key, rows in series.records_by_series(records)
    }
    assert found == values_by_hand(records)


def test_sides_stay_apart_unless_asked_for(records):
    both = pl.concat([records, records.with_columns(side=pl.lit("b"))])
    found = series.series(both)
    assert sorted(found["side"].to_list()) == ["a"] * 5 + ["b"] * 5
    assert (
        series.series(both, SERIES)["n"].sum() == 2 * series.series(records)["n"].sum()
    )


def test_a_session_counts_once_by_its_median():
    passes = [
        record(run, value=value)
        for run, values in enumerate(([1, 2, 9], [5]))
        for value in values
    ]
    found = series.by_session(frame(passes))
    assert found["value"].to_list() == [median([1, 2, 9]), 5]
    assert found.columns == frame(passes).columns


def mixed():
    """Return records of two sides in the order of time: kinds that change, several units, failures."""
    draw = random.Random(3)
    records = []
    for number in range(900):
        case = {
            "check": draw.choice("xy"),
            "layout": draw.choice(["1x2", None]),
            "partition": draw.choice("pq"),
        }
        point = {
            "metric": draw.choice("mn"),
            "unit": draw.choice(["us"] * 9 + ["s"]),
            "size_B": draw.choice([8, 16]),
        }
        kind = {
            "program_version": draw.choice(["1", None]),
            "evidence": draw.choice([None] * 5 + ["fitted"]),
        }
        value = draw.gauss(0, 1)
        what = (
            point
            if draw.random() < 0.9
            else NOTHING | {"fail_reason": draw.choice(["full", "cut", None])}
        )
        time = FIRST + timedelta(days=number // 30)
        records += runs(
            draw.choice("AB"),
            [value if what is point else None],
            time=time,
            **case,
            **kind,
            **what,
        )
    return frame(records)


def gathered_by_hand(records):
    rows = records.to_dicts()
    measured = together(
        [row for row in rows if row["metric"] is not None], "side", *MACHINE, *METRIC
    )
    return {
        key: {
            "values": sorted(row["value"] for row in of),
            **{name: of[-1][name] for name in OF_LATEST},
            "unit": sorted({row["unit"] for row in of}),
            "program_version": sorted({row["program_version"] or "?" for row in of}),
            "evidence": sorted({row["evidence"] or "measured" for row in of}),
        }
        for key, of in measured.items()
    }


def as_gathered(found):
    by_key = {}
    for row in found.to_dicts():
        values = sorted(row["values"])
        assert row["n"] == len(values) and row["least"] == values[0]
        names = (*OF_LATEST, "unit", "program_version", "evidence")
        key = tuple(str(row[name]) for name in ("side", *MACHINE, *METRIC))
        by_key[key] = {"values": values, **{name: row[name] for name in names}}
    assert len(by_key) == found.height
    return by_key


@pytest.mark.parametrize("size", [7, 100, 10_000])
def test_parts_give_the_series_of_all_records(size):
    records = mixed()
    chosen = records.select("side", *series.COMPARED)
    pieces = [
        (side, series.aggregated(piece.drop("side")))
        for side in "AB"
        for piece in chosen.filter(side=side).iter_slices(size)
    ]
    found = series.gather(pieces)
    assert as_gathered(found) == gathered_by_hand(records)
    whole = series.gather(sorted(parts(records.to_dicts()), key=lambda part: part[0]))
    assert found.drop("values").equals(whole.drop("values"))


def test_parts_in_any_order_of_time_give_the_same():
    days = [
        parts(runs("A", [1.0 + n], size_B=n, time=FIRST + timedelta(days=n)))[0]
        for n in range(30)
    ]
    in_order, found = series.gather(days), series.gather(days[::-1])
    assert found.drop("values").equals(in_order.drop("values"))
    assert found["size_B"].to_list() == [29]
