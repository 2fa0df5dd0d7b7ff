# SPDX-License-Identifier: BSD-3-Clause
"""A verdict does not depend on the order in which a file has its rows."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from fabric_checks.matrices import formats, merged
from fabric_checks.report.terminal import blame
from tests.matrices import samples
from tests.matrices.made import matrix, table

SAVED = Path(__file__).resolve().parents[1] / "golden" / "matrices"
SHUFFLES = 5


def twice(**fault):
    """Return two nights of eight nodes in one file."""
    one, two = (table(matrix(8, seed, **fault)) for seed in (1, 2))
    return [replace(one, rows=one.rows + two.rows)]


CASES = {
    **{path.name: formats.parse(path.read_text()) for path in sorted(SAVED.iterdir())},
    **{
        name: formats.parse(getattr(samples, name))
        for name in ("CSV_ROWS", "CSV_MATRIX", "CLUSTERKIT", "NCCL", "PERFTEST")
    },
    "healthy": twice(),
    "node": twice(node=(5, 0.7)),
    "pair": twice(pair=(3, 7, 0.6)),
}


def verdict(tables):
    """Return all that is printed of tables but their metrics."""
    judged = [
        blame.judge(run, None, None)
        for run in merged.join(("a file", each) for each in tables)
    ]
    return blame.as_lines(judged, "next.txt")


def shuffled(of, seed):
    rows = list(of.rows)
    random.Random(seed).shuffle(rows)
    return replace(of, rows=tuple(rows))


@pytest.mark.parametrize("name", CASES)
def test_shuffled_rows_have_the_same_verdict(name):
    expected = verdict(CASES[name])
    for seed in range(SHUFFLES):
        assert verdict([shuffled(each, seed) for each in CASES[name]]) == expected


def test_a_rail_of_which_half_is_slow_prints_no_rate_that_nobody_measured():
    (measured,) = CASES["rail6-half.csv"]
    (run,) = merged.join([("a file", measured)])
    rates = run.output.scan.MBps
    fastest = max(row.value for row in measured.rows)
    assert rates.max() == pytest.approx(fastest, rel=0.01)
    printed = "\n".join(verdict([measured]))
    assert "57.3" not in printed and "33.7 GB/s" in printed
