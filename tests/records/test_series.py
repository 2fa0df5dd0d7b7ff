# SPDX-License-Identifier: BSD-3-Clause
"""Series of records."""

import random
from itertools import groupby

import polars as pl
import pytest

from fabric_checks.records import series
from fabric_checks.records.record import SERIES
from tests.builders import failed, load, record, write


@pytest.fixture
def frame(tmp_path):
    """Return records of four series in an order of chance, with failures among them."""
    random.seed(1)
    records = [record(n, metric=f"m{n % 2}", unit=("us", "s")[n % 3 == 0], value=n + 0.5) for n in range(60)]
    records += [failed(70), record(61, metric="m0", layout=None)]
    random.shuffle(records)
    for n, entry in enumerate(records):
        write(tmp_path / f"{n}.jsonl", [entry])
    return load(tmp_path).frame


def by_hand(frame):
    """Return the values of each series, from Python's own sorting and grouping."""
    rows = [row for row in frame.to_dicts() if row["metric"] is not None]

    def key(row):
        return tuple(str(row[name]) for name in SERIES)

    rows.sort(key=lambda row: (key(row), row["time"]))
    return {place: [row["value"] for row in together] for place, together in groupby(rows, key)}


def as_dict(found):
    return {tuple(str(row[name]) for name in SERIES): row["values"] for row in found.to_dicts()}


def test_values_are_in_the_order_of_time(frame):
    found = series.series(frame)
    assert as_dict(found) == by_hand(frame) and found.height == 5
    for row in found.to_dicts():
        assert row["n"] == len(row["values"]) == len(row["times"])
        assert row["times"] == sorted(row["times"])
        assert (row["first_time"], row["last_time"]) == (row["times"][0], row["times"][-1])
    assert found["layout"].null_count() == 1


def test_a_frame_in_any_order_gives_the_same(frame):
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    assert as_dict(series.series(shuffled)) == by_hand(frame)


def test_sides_stay_apart(frame):
    both = pl.concat([frame, frame.with_columns(side=pl.lit("b"))])
    found = series.series(both)
    assert found["side"].to_list() == ["a"] * 5 + ["b"] * 5
    assert series.series(both, SERIES)["n"].to_list() == [2 * n for n in found["n"][:5]]


def test_the_latest_record_says_what_a_series_is(frame):
    (row,) = series.series(frame.filter(pl.col("layout").is_null())).to_dicts()
    assert (row["quantity"], row["better"], row["program"], row["evidence"]) == ("latency", "smaller", "x", None)


def test_a_collision_of_hashes_makes_no_series_of_two(frame, monkeypatch):
    """All rows have one hash: the other one tells, and the rows are grouped by what they are."""
    real = pl.DataFrame.hash_rows
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda self, seed: real(self, seed=seed) * (0 if seed == 1 else 1))
    assert as_dict(series.series(frame)) == by_hand(frame)


def test_grouping_does_as_polars_does(frame):
    by = ["side", "layout", "unit"]
    expressions = (pl.col("value").sum(), pl.col("metric").n_unique())
    assert series.grouped(frame, by, *expressions).equals(frame.group_by(by, maintain_order=True).agg(*expressions))
