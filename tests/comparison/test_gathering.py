# SPDX-License-Identifier: BSD-3-Clause
"""Series are the same, however records come in parts."""

import random
from datetime import timedelta
from itertools import groupby

import pytest

from fabric_checks.records import series
from fabric_checks.records.series import OF_LATEST as LATEST
from fabric_checks.records.series import CASE, MACHINE, METRIC
from tests.builders import FIRST, NOTHING, frame, parts, runs

SIDES = "AB"


def mixed():
    """Return records of two sides in the order of time: kinds that change, several units, failures."""
    draw = random.Random(3)
    records = []
    for number in range(900):
        case = {"check": draw.choice("xy"), "layout": draw.choice(["1x2", None]), "partition": draw.choice("pq")}
        point = {"metric": draw.choice("mn"), "unit": draw.choice(["us"] * 9 + ["s"]), "size_B": draw.choice([8, 16])}
        kind = {"program_version": draw.choice(["1", None]), "evidence": draw.choice([None] * 5 + ["fitted"])}
        value = draw.gauss(0, 1)
        what = point if draw.random() < 0.9 else NOTHING | {"fail_reason": draw.choice(["full", "cut", None])}
        time = FIRST + timedelta(days=number // 30)
        records += runs(draw.choice(SIDES), [value if what is point else None], time=time, **case, **kind, **what)
    return frame(records)


def by_hand(records):
    """Return series and failures by plain Python, from all records at once."""

    def together(rows, *names):
        def key(row):
            return tuple(str(row[name]) for name in ("side", *names))

        return {place: list(of) for place, of in groupby(sorted(rows, key=key), key)}

    rows = records.to_dicts()
    measured = [row for row in rows if row["metric"] is not None]
    found = {
        place: {
            "values": sorted(row["value"] for row in of),
            **{name: of[-1][name] for name in LATEST},
            "unit": sorted({row["unit"] for row in of}),
            "program_version": sorted({row["program_version"] or "?" for row in of}),
            "evidence": sorted({row["evidence"] or "measured" for row in of}),
        }
        for place, of in together(measured, *MACHINE, *METRIC).items()
    }
    failed = {
        place: (len(of), of[-1]["parameters"], of[-1]["fail_reason"])
        for place, of in together([row for row in rows if row["metric"] is None], *MACHINE, *CASE).items()
    }
    return found, failed


def as_told(found):
    values = found.values
    told = {}
    for row in found.series.to_dicts():
        place = tuple(str(row[name]) for name in ("side", *MACHINE, *METRIC))
        of = sorted(values.flat[values.starts[row["row"]] :][: values.n[row["row"]]])
        assert row["n"] == len(of) and row["least"] == of[0]
        told[place] = {"values": of, **{name: row[name] for name in (*LATEST, "unit", "program_version", "evidence")}}
    failed = {
        tuple(str(row[name]) for name in ("side", *MACHINE, *CASE)): (
            row["failed"], row["parameters"], row["fail_reason"],
        )
        for row in found.failed.to_dicts()
    }  # fmt: skip
    assert len(told) == found.series.height and len(failed) == found.failed.height
    return told, failed


@pytest.mark.parametrize("size", [7, 100, 10_000])
def test_parts_give_what_all_records_give(size):
    records = mixed()
    chosen = records.select("side", *series.COMPARED)
    pieces = [
        (side, series.aggregated(piece.drop("side")))
        for side in SIDES
        for piece in chosen.filter(side=side).iter_slices(size)
    ]
    found = series.gather(pieces)
    assert as_told(found) == by_hand(records)
    whole = series.gather(sorted(parts(records.to_dicts()), key=lambda part: part[0]))
    assert found.series.equals(whole.series) and found.failed.equals(whole.failed)
    assert found.machines.equals(whole.machines) and found.machines.height == 4


def test_parts_that_are_not_in_the_order_of_time_give_the_same():
    days = [parts(runs("A", [1.0 + n], size_B=n, time=FIRST + timedelta(days=n)))[0] for n in range(30)]
    in_order, found = series.gather(days), series.gather(days[::-1])
    assert found.series.drop("row").equals(in_order.series.drop("row")) and found.series["size_B"].to_list() == [29]


def test_nothing_but_failures():
    found = series.gather(parts(runs("A", [None, None], **NOTHING, fail_reason="no")))
    assert (found.series.height, found.failed["failed"].to_list()) == (0, [2])
