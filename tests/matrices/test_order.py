# SPDX-License-Identifier: BSD-3-Clause
"""A verdict does not depend on the order in which a file has its rows."""

import random
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from fabric_checks.matrices import formats, merged
from fabric_checks.matrices.merged import Run
from fabric_checks.report.terminal import blame
from tests.matrices import samples
from tests.matrices.made import matrix, table
from tests.own_outputs import summed

SAVED = Path(__file__).resolve().parents[1] / "golden" / "matrices"
ROTATE = sorted((SAVED.parent / "rotate").iterdir())
FEW, MANY = range(5), range(5, 100)
SEEDS = [FEW, pytest.param(MANY, marks=pytest.mark.long)]


def twice(**fault):
    """Return two nights of eight nodes in one file."""
    one, two = (table(matrix(8, seed, **fault)) for seed in (1, 2))
    return [replace(one, rows=one.rows + two.rows)]


CASES = {
    **{path.name: formats.parse(path.read_text()) for path in sorted(SAVED.iterdir())},
    **{
        name: formats.parse(getattr(samples, name))
        for name in (
            "CSV_ROWS",
            "CSV_MATRIX",
            "CLUSTERKIT",
            "NCCL",
            "MPIGRAPH",
            "PERFTEST",
            "PERFTEST_LATENCY",
        )
    },
    "healthy": twice(),
    "node": twice(node=(5, 0.7)),
    "pair": twice(pair=(3, 7, 0.6)),
    "sender": twice(sender=(2, 0.8)),
    "noisy": twice(noise=0.1),
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


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_shuffled_rows_have_the_same_verdict(name, seeds):
    expected = verdict(CASES[name])
    for seed in seeds:
        assert verdict([shuffled(each, seed) for each in CASES[name]]) == expected


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("path", ROTATE, ids=lambda path: path.name)
def test_shuffled_pairs_of_a_round_have_the_same_verdict(path, seeds):
    text = path.read_text()
    expected = judged(text)
    for seed in seeds:
        assert judged(with_shuffled_rounds(text, seed)) == expected


def judged(text):
    """Return what is printed of the output of ``rotate``."""
    run = Run("a file", formats.parse(text))
    return blame.as_lines([blame.judge(run, None, None)], "next.txt")


def with_shuffled_rounds(text, seed):
    """Return the output of ``rotate`` with the rows of each round and phase in another order."""
    random_ = random.Random(seed)
    lines = text.splitlines(keepends=True)
    found = []
    for _, of_round in groupby(lines, key=round_and_phase):
        rows = list(of_round)
        if not rows[0].startswith("#"):
            random_.shuffle(rows)
        found += rows
    return summed("".join(found))


def round_and_phase(line):
    words = line.split()
    return words[0], words[-1]


def test_a_rail_of_which_half_is_slow_prints_no_rate_that_nobody_measured():
    (measured,) = CASES["rail6-half.csv"]
    (run,) = merged.join([("a file", measured)])
    rates = run.output.scan.MBps
    fastest = max(row.value for row in measured.rows)
    assert rates.max() == pytest.approx(fastest, rel=0.01)
    printed = "\n".join(verdict([measured]))
    assert "57.3" not in printed and "33.7 GB/s" in printed


def test_two_leaves_of_different_sizes_are_groups():
    printed = "\n".join(verdict(CASES["latency-9-and-7.csv"]))
    assert "2 groups of nodes" in printed and "of 7 to 9 nodes" in printed
    assert "farther from every node" not in printed
