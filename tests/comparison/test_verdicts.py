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
    together = judged(pairs)
    alone = pl.concat([judged(pairs[number]) for number in range(len(pairs))])
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


def test_differences_of_single_runs_have_no_interval():
    pair = {
        "values_baseline": [2.0],
        "values_side": [3.0],
        "better": "smaller",
        "unit": "us",
        "by_difference": True,
    }
    pairs = pl.DataFrame([pair | {"comparable": True}])
    assert judged(pairs).row(0, named=True)["change_low"] is None


def test_values_that_are_all_zero_do_not_differ():
    pair = {
        "values_baseline": [0.0] * 6,
        "values_side": [0.0] * 6,
        "better": "smaller",
        "unit": "1",
    }
    pairs = pl.DataFrame([pair | {"by_difference": True, "comparable": True}])
    assert judged(pairs).row(0, named=True)["at_least"] == 0
