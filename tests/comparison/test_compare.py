# SPDX-License-Identifier: BSD-3-Clause
"""Sets of results side by side."""

import numpy as np
import polars as pl
import pytest

from fabric_checks.comparison.compare import (
    COLUMNS,
    compare,
    machine_key,
    select,
    worst,
)
from fabric_checks.core.errors import RecordError
from tests.builders import NOTHING, frame, parts, runs

TIGHT = [1.00, 1.01, 0.99, 1.0, 1.02, 0.98]


def row(*records, **options):
    """Return the only row of a comparison of A and B."""
    (found,) = compare(parts(*records), ["A", "B"], **options).frame.to_dicts()
    return found


def times(factor, values=TIGHT):
    return [factor * value for value in values]


@pytest.mark.parametrize(
    "better, factor, verdict",
    [
        ("smaller", 1.2, "worse"),
        ("smaller", 0.8, "better"),
        ("smaller", 1.001, "no difference"),
        ("larger", 0.8, "worse"),
        ("larger", 1.2, "better"),
    ],
)
def test_worse_depends_on_which_direction_is_better(better, factor, verdict):
    found = row(
        runs("A", TIGHT, better=better), runs("B", times(factor), better=better)
    )
    assert found["verdict"] == verdict
    assert found["change"] == pytest.approx(100 * (factor - 1))
    assert found["change_low"] <= found["change"] <= found["change_high"]
    assert (found["at_least"] > 0) == (verdict == "worse")


def test_a_row_has_all_columns():
    found = row(runs("A", TIGHT), runs("B", times(1.2)))
    assert tuple(found) == COLUMNS
    assert found["n_baseline"] == found["n_side"] == 6
    assert found["median_baseline"] == 1.0
    assert 0.98 <= found["low_baseline"] < 1 < found["high_baseline"] <= 1.02
    assert found["where_side"] == "cluster:compute+mpich"
    assert found["unit"] == "us"
    assert found["bootstrapped"]


def test_no_difference_comes_with_the_smallest_detectable_one():
    wide = row(
        runs("A", [1, 1.3, 0.7, 1.1, 0.9]), runs("B", [1.01, 1.31, 0.71, 1.11, 0.91])
    )
    tight = row(runs("A", TIGHT), runs("B", TIGHT))
    assert wide["verdict"] == tight["verdict"] == "no difference"
    assert wide["detectable"] == pytest.approx(
        (wide["change_high"] - wide["change_low"]) / 2
    )
    assert wide["detectable"] > 10 > 3 > tight["detectable"] > 0


def test_four_runs_are_too_few():
    found = row(runs("A", TIGHT), runs("B", times(2)[:4]))
    assert found["verdict"] == "too few runs" and found["change"] == pytest.approx(
        101, rel=0.01
    )
    assert found["change_low"] is None
    assert found["low_side"] is None
    assert not found["bootstrapped"]


@pytest.mark.parametrize(
    "unit, one, two, at_least",
    [
        ("%", [50.0] * 5, [48.0] * 5, 2.0),
        ("us", [0.0] * 5, [3.0] * 5, 100.0),
        ("us", [-1.0] * 5, [1.0] * 5, 200.0),
    ],
)
def test_values_that_can_be_zero_are_compared_by_difference(unit, one, two, at_least):
    better = "larger" if unit == "%" else "smaller"
    kind = {"unit": unit, "better": better, "can_be_zero": True}
    found = row(runs("A", one, **kind), runs("B", two, **kind))
    assert found["by_difference"] and found["verdict"] == "worse"
    assert found["change"] == two[0] - one[0] and found["at_least"] == pytest.approx(
        at_least
    )


@pytest.mark.parametrize("can_be_zero", [False, None])
def test_of_zero_there_is_no_ratio_whatever_its_record_says(can_be_zero):
    zero = {"metric": "latency_0B", "size_B": 0}
    other = {"metric": "latency_1B", "size_B": 1}
    records = [
        runs(side, values, can_be_zero=can_be_zero, **point)
        for side in "AB"
        for values, point in ((5 * [0.0], zero), (5 * [1.0], other))
    ]
    assert compare(parts(*records), ["A", "B"]).frame["by_difference"].to_list() == [
        True,
        False,
    ]


def test_a_metric_of_one_side_only_is_missing():
    other = {"metric": "latency_16B", "size_B": 16}
    found = compare(
        parts(runs("A", TIGHT), runs("B", TIGHT), runs("A", TIGHT, **other)), ["A", "B"]
    ).frame
    (missing,) = found.filter(pl.col("verdict") == "missing").to_dicts()
    assert missing["metric"] == "latency_16B" and missing["why"] == "missing in B"
    assert missing["median_baseline"] == 1.0
    assert missing["n_side"] is None
    assert missing["median_side"] is None


@pytest.mark.parametrize("layout", ["2x1", None])
def test_a_case_that_failed_has_no_values_to_compare(layout):
    def run(side, values, **changes):
        return runs(side, values, layout=layout, **changes)

    failed = NOTHING | {"fail_reason": "no output", "case_result": "fail"}
    other = {"test": "other"}
    found = compare(
        parts(
            *(run(side, TIGHT, **other) for side in "AB"),
            run("A", TIGHT),
            run("B", [None, None], **failed),
        ),
        ["A", "B"],
    ).frame
    assert sorted(found.select("test", "verdict").rows()) == [
        ("OsuLatency %layout=2x1", "missing"),
        ("other", "no difference"),
    ]
    assert set(found["why"]) == {None, "missing in B"}
    some = row(run("A", TIGHT), run("B", TIGHT), run("B", [None], **failed))
    assert some["verdict"] == "no difference" and some["n_side"] == len(TIGHT)


@pytest.mark.parametrize(
    "change, why",
    [
        ({"unit": "s"}, "unit: us in A, s in B"),
        ({"unit": lambda run: ["us", "s"][run % 2]}, "unit: us in A, s, us in B"),
        ({"better": "larger"}, "which direction is better: smaller in A, larger in B"),
        ({"program": "osu-py"}, "program: osu in A, osu-py in B"),
        (
            {"program": lambda run: ["osu", "osu-py"][run % 2]},
            "program: osu in A, osu, osu-py in B",
        ),
    ],
)
def test_differing_units_directions_or_programs_are_not_comparable(change, why):
    found = row(runs("A", TIGHT), runs("B", times(2), **change))
    assert found["verdict"] == "not comparable"
    assert found["why"] == why
    assert found["change"] is None
    assert found["median_side"] == 2.0


@pytest.mark.parametrize(
    "version, note",
    [
        ("7.6", "program version: 7.5.2 in A, 7.6 in B"),
        (None, "program version: 7.5.2 in A, ? in B"),
        (
            lambda run: ["7.5.2", "7.6"][run % 2],
            "program version: 7.5.2 in A, 7.5.2, 7.6 in B",
        ),
    ],
)
def test_releases_of_a_program_are_compared_and_noted(version, note):
    found = row(runs("A", TIGHT), runs("B", times(2), program_version=version))
    assert found["verdict"] == "worse"
    assert found["note"] == note


@pytest.mark.parametrize(
    "inside, note", [("sha256:ab", "image: none in A, sha256:ab in B"), (None, None)]
)
def test_values_of_another_image_are_compared_and_the_image_is_noted(inside, note):
    found = row(runs("A", TIGHT), runs("B", times(2), image_digest=inside))
    assert found["verdict"] == "worse"
    assert found["note"] == note


def test_simulations_are_marked():
    found = row(runs("A", TIGHT), runs("B", TIGHT, evidence="fitted"))
    assert found["verdict"] == "no difference"
    assert found["note"] == "B is a simulation: fitted"
    assert found["evidence_baseline"] == "measured"
    assert found["evidence_side"] == "fitted"


def test_two_systems_with_one_partition_each_are_compared():
    found = row(
        runs("A", TIGHT),
        runs("B", TIGHT, system="other", partition="all", environ="openmpi"),
    )
    assert found["where_baseline"] == "cluster:compute+mpich"
    assert found["where_side"] == "other:all+openmpi"
    assert found["verdict"] == "no difference"


def test_fields_that_both_sides_share_have_to_agree():
    there = {"system": "other"}
    found = compare(
        parts(
            runs("A", TIGHT),
            runs("A", TIGHT, environ="openmpi"),
            runs("B", TIGHT, **there),
            runs("B", TIGHT, environ="impi", **there),
        ),
        ["A", "B"],
    ).frame
    assert sorted(found["why"].fill_null("").to_list()) == [
        "",
        "missing in A",
        "missing in B",
    ]


def test_a_side_without_records():
    for others in ([], [runs("B", [None], **NOTHING)]):
        with pytest.raises(RecordError, match="'B' has no values"):
            compare(parts(runs("A", TIGHT), *others), ["A", "B"])


def test_several_sides_are_compared_with_the_first():
    found = compare(
        parts(runs("A", TIGHT), runs("B", TIGHT), runs("C", times(1.5))),
        ["A", "B", "C"],
    )
    assert found.sides == ("B", "C")
    assert found.frame.select("side", "verdict").rows() == [
        ("B", "no difference"),
        ("C", "worse"),
    ]


def noisy(draw, factor, pairs):
    """Return records of pairs of 20 runs a side with a noise of 3 %; those of B are larger by a factor."""
    records = []
    for number in range(pairs):
        point = {"metric": f"latency_{number}B", "size_B": number}
        records += [
            runs(
                side, draw.normal(100, 3, 20) * (factor if side == "B" else 1), **point
            )
            for side in "AB"
        ]
    return compare(parts(*records), ["A", "B"])


def test_as_many_equal_pairs_differ_as_chance_predicts(report_table):
    """What is expected is an upper bound, and not far off."""
    found = noisy(np.random.default_rng(1), 1.0, pairs=300)
    differ = found.count("worse") + found.count("better")
    assert found.by_chance == pytest.approx(15) and 2 <= differ <= 24
    report_table(
        "pairs of 300 that differ by chance",
        [f"{differ}, expected about {found.by_chance:.0f}"],
    )


@pytest.mark.parametrize("factor, least", [(1.03, 0.5), (1.05, 0.95), (1.1, 0.99)])
def test_differences_beyond_the_noise_are_detected(factor, least, report_table):
    detected = noisy(np.random.default_rng(2), factor, pairs=80).count("worse") / 80
    title = f"a difference of {100 * (factor - 1):.0f} % detected, of 20 runs a side with 3 % noise"
    report_table(title, [f"{detected:.0%}"])
    assert detected >= least


ALL = ("system", "partition", "environ")


@pytest.mark.parametrize(
    "one, two, key",
    [
        ([{}], [{}], ALL),
        ([{}], [{"system": "s"}], ("partition", "environ")),
        ([{}], [{"system": "s", "partition": "p", "environ": "e"}], ()),
        ([{}, {"partition": "p"}], [{"partition": "p"}], ALL),
        (
            [{}, {"environ": "e"}],
            [{"environ": "e", "system": "s"}],
            ("partition", "environ"),
        ),
    ],
)
def test_the_key_has_the_fields_of_which_both_sides_share_a_value(one, two, key):
    records = [runs("A", [1], **own) for own in one] + [
        runs("B", [1], **own) for own in two
    ]
    assert machine_key(frame(*records), "A", "B") == key


def test_several_values_and_none_in_common():
    records = [runs("A", [1], system=name) for name in "pqrstu"] + [runs("B", [1])]
    with pytest.raises(
        RecordError,
        match=r"p, q, r, s and 2 more against cluster.*narrow 'A' to one, as in PATH,system=p$",
    ):
        machine_key(frame(*records), "A", "B")
    with pytest.raises(
        RecordError, match=r"\(p, q against cluster\).*narrow 'A' to one"
    ):
        machine_key(frame(*records[:2], records[-1]), "A", "B")


def test_the_worst_of_a_quantity_stands_for_it_and_one_of_a_case_for_what_is_alike():
    records = []
    for side in "AB":
        for size, factor in ((1, 1.0), (2, 1.1), (4, 1.3), (8, 1.0)):
            point = {"metric": f"latency_{size}B", "size_B": size}
            values = times(factor if side == "B" else 1)
            records.append(runs(side, values, **point))
    frame = select(compare(parts(*records), ["A", "B"]).frame)
    found = worst(frame).select("verdict", "metric", "values").rows()
    assert found == [
        ("worse", "latency_4B", 2),
        ("no difference", "latency_1B", 2),
    ]
