# SPDX-License-Identifier: BSD-3-Clause
"""What makes a comparison fail."""

import click
import pytest

from fabric_checks.cli import conditions as gate
from fabric_checks.comparison.compare import compare
from tests.builders import parts, runs

TIGHT = [1.00, 1.01, 0.99, 1.0, 1.02, 0.98]


def found(*records, **options):
    return compare(parts(*records), ["A", "B"], **options)


def gates(*texts):
    """Return the gates that the option --fail-on gives a command."""

    @click.command()
    @gate.fail_on_option("", ["worse", "missing"])
    def command(gates):
        return gates

    return command.main(
        [word for text in texts for word in ("--fail-on", text)], standalone_mode=False
    )


def test_gates_are_read():
    assert gates("worse", "missing") == {"worse": 0.0, "missing": 0.0}
    assert gates("worse:5%") == gates("worse:0.05") == {"worse": 5.0}


@pytest.mark.parametrize(
    "text", ["", "worst", "worse:", "worse:x%", "worse:-1%", "worse:nan", "missing:5%"]
)
def test_others_are_refused_with_those_that_there_are(text):
    with pytest.raises(
        click.BadParameter, match="not one of worse, missing, worse:5%|not a share"
    ):
        gates(text)


@pytest.mark.parametrize(
    "margin, objects", [(0, True), (5, True), (11, True), (12, False), (25, False)]
)
def test_the_whole_interval_has_to_be_beyond_the_margin(margin, objects):
    """The median is 15 % worse, and 11.4 % is where its interval begins."""
    one = runs("A", [100, 101, 99, 100, 102, 98])
    two = runs("B", [115, 117, 112, 115, 116, 111])
    comparison = found(one, two)
    (row,) = comparison.frame.to_dicts()
    assert 11 < row["at_least"] < 12 < row["change"]
    assert bool(gate.objections(comparison, {"worse": margin})) is objects


def test_missing_metrics_are_counted():
    comparison = found(
        runs("A", TIGHT),
        runs("B", TIGHT),
        runs("A", TIGHT, metric="latency_16B", size_B=16),
    )
    assert gate.objections(comparison, {"missing": 0, "worse": 0}) == ["1 missing"]


def test_a_gate_that_could_compare_nothing_does_not_pass():
    comparison = found(runs("A", [1.0]), runs("B", [1.0]))
    assert gate.objections(comparison, {"worse": 5}) == ["no metric could be compared"]
    assert gate.objections(comparison, {"missing": 0}) == []
    assert (
        gate.objections(
            found(runs("A", [1.0]), runs("B", [1.0]), repeatable=0.01), {"worse": 5}
        )
        == []
    )
