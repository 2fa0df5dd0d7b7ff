# SPDX-License-Identifier: BSD-3-Clause
"""Many pairs at once, of all kinds, are judged as each by itself."""

import numpy as np
import polars as pl

from fabric_checks.comparison import verdicts
from fabric_checks.comparison.verdicts import judged


def test_together_as_alone(monkeypatch):
    draw = np.random.default_rng(8)
    rows = []
    for number in range(120):
        sizes = [int(n) for n in draw.choice([0, 1, 4, 5, 6, 20], 2)]
        by_difference = bool(number % 3 == 0)
        values = [
            draw.normal(0 if by_difference else 100, 3, n).tolist() if n else None
            for n in sizes
        ]
        rows.append(
            {
                "values_baseline": values[0],
                "values_side": values[1],
                "better": ["smaller", "larger"][number % 2],
                "unit": ["us", "%"][number % 2],
                "by_difference": by_difference,
                "comparable": None not in values and number % 7 != 0,
            }
        )
    pairs = pl.DataFrame(rows)
    monkeypatch.setattr(verdicts, "_TOGETHER", 50)
    for repeatable in (None, 0.05):
        together = judged(pairs, repeatable)
        alone = pl.concat(
            [judged(pairs[number], repeatable) for number in range(len(pairs))]
        )
        assert together.equals(alone)
        judged_pairs = together.filter(pl.col("comparable"))
        assert judged_pairs["verdict"].null_count() == 0 and set(
            judged_pairs["verdict"]
        ) >= {"no difference"}
        assert (
            together.filter(~pl.col("comparable"))["verdict"].null_count()
            == (~pairs["comparable"]).sum()
        )
        for verdict in ("worse", "better"):
            sure = judged_pairs.filter(pl.col("verdict") == verdict)
            worse = (sure["better"] == "smaller") == (sure["change"] > 0)
            assert (worse == (verdict == "worse")).all()


def test_single_runs_differ_by_an_interval_of_their_repeatability():
    """Medians that are each within 5 % of what repeats: from 110 / (100 x 1.05) to 110 x 1.05 / 100."""
    pair = {
        "values_baseline": [100.0],
        "values_side": [110.0],
        "better": "smaller",
        "unit": "us",
    }
    pairs = pl.DataFrame([pair | {"by_difference": False, "comparable": True}])
    found = judged(pairs, 0.05).row(0, named=True)
    assert np.allclose(
        [found["change_low"], found["change"], found["change_high"]],
        [100 / 21, 10, 15.5],
    )


def test_differences_of_single_runs_have_no_interval_but_that_of_what_repeats():
    pair = {
        "values_baseline": [2.0],
        "values_side": [3.0],
        "better": "smaller",
        "unit": "us",
        "by_difference": True,
    }
    pairs = pl.DataFrame([pair | {"comparable": True}])
    assert judged(pairs, None).row(0, named=True)["change_low"] is None
    found = judged(pairs, 0.1).row(0, named=True)
    size = (
        1 - found["change_low"]
    ) / 0.1  # the size of the values, of which a tenth repeats
    assert 2 <= size <= 5 and np.isclose(found["change_high"] - 1, 0.1 * size)


def test_values_that_are_all_zero_do_not_differ():
    pair = {
        "values_baseline": [0.0] * 6,
        "values_side": [0.0] * 6,
        "better": "smaller",
        "unit": "1",
    }
    pairs = pl.DataFrame([pair | {"by_difference": True, "comparable": True}])
    assert judged(pairs, None).row(0, named=True)["at_least"] == 0
