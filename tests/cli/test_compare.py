# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks compare`` as a user starts it."""

import json
from functools import partial

import pytest

from fabric_checks.cli.compare import objections
from fabric_checks.comparison import compare as comparison
from fabric_checks.core.errors import RequestError
from tests import calling
from tests.builders import parts, runs, write_runs

TIGHT = [1.00, 1.01, 0.99, 1.0, 1.02, 0.98]


@pytest.fixture
def logs(tmp_path):
    """Two perflogs, the second 20 % worse and without one value."""
    other = {"metric": "latency_16B", "size_B": 16}
    write_runs(tmp_path / "old.jsonl", runs("", TIGHT), runs("", TIGHT, **other))
    write_runs(
        tmp_path / "new.jsonl",
        runs("", [1.2 * value for value in TIGHT], session="20261201T000000Z-0002"),
    )
    return tmp_path


compare = partial(calling.invoke, "compare")


def labelled(logs):
    return f"before={logs / 'old.jsonl'}", f"after={logs / 'new.jsonl'}"


def test_a_table_and_its_counts(logs):
    result = compare(*labelled(logs))
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stdout.splitlines() if line.startswith(" worse"))
    assert "latency_8B" in line and "+20 %" in line
    assert "after against before: 2 metrics: 1 worse, 1 missing" in result.stdout


@pytest.mark.parametrize(
    "gates, status",
    [
        ("", 0),
        ("--fail-on worse --margin 5", 3),
        ("--fail-on worse --margin 30", 0),
        ("--fail-on worse --fail-on missing --margin 30", 3),
    ],
)
def test_the_exit_status_is_a_gate(logs, gates, status):
    result = compare(*labelled(logs), *gates.split())
    assert result.exit_code == status
    told = "--fail-on: 1 worse by at least 5 % for certain" in result.stderr
    assert told == gates.endswith(" 5")


def found(*records):
    return comparison.compare(parts(*records), ["A", "B"])


@pytest.mark.parametrize(
    "margin, objects", [(0, True), (5, True), (11, True), (12, False), (25, False)]
)
def test_the_whole_interval_has_to_be_beyond_the_margin(margin, objects):
    """The median is 15 % worse, and 11.4 % is where its interval begins."""
    one = runs("A", [100, 101, 99, 100, 102, 98])
    two = runs("B", [115, 117, 112, 115, 116, 111])
    both = found(one, two)
    (row,) = both.frame.to_dicts()
    assert 11 < row["at_least"] < 12 < row["change"]
    assert bool(objections(both, ["worse"], margin)) is objects


def test_missing_metrics_are_counted():
    both = found(
        runs("A", TIGHT),
        runs("B", TIGHT),
        runs("A", TIGHT, metric="latency_16B", size_B=16),
    )
    assert objections(both, ["missing", "worse"], 0) == ["1 missing"]


def test_a_gate_that_could_compare_nothing_does_not_pass():
    both = found(runs("A", [1.0]), runs("B", [1.0]))
    assert objections(both, ["worse"], 5) == ["no metric could be compared"]
    assert objections(both, ["missing"], 0) == []
    assert objections(found(runs("A", TIGHT), runs("B", TIGHT)), ["worse"], 5) == []


def test_bad_records_are_told_and_the_good_ones_used(logs):
    path = logs / "new.jsonl"
    path.write_text(path.read_text() + '{"half')
    result = compare(*labelled(logs))
    assert result.exit_code == 1 and "1 worse" in result.stdout
    assert f"{path}:7" in result.stderr and result.stderr.startswith("warning: ")
    assert compare(*labelled(logs), "--fail-on", "worse").exit_code == 3
    content = json.loads(compare(*labelled(logs), "--json").stdout)
    header, *rows = compare(*labelled(logs), "--csv").stdout.splitlines()
    assert header == ",".join(content["rows"][0]) and len(rows) == len(content["rows"])
    assert f"{path}:7" in content["faults"][0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["one"],
        ["{old}", "{new}", "--fail-on", "worst"],
    ],
)
def test_wrong_usage(logs, arguments):
    names = {"old": logs / "old.jsonl", "new": logs / "new.jsonl"}
    assert compare(*(each.format(**names) for each in arguments)).exit_code == 2


def test_two_sets_of_one_name_are_wrong_usage(logs):
    error = compare(logs / "old.jsonl", logs / "old.jsonl").exception
    assert isinstance(error, RequestError) and "give them different labels" in str(
        error
    )


def test_sets_that_share_no_partition_are_refused(logs):
    write_runs(logs / "old.jsonl", runs("", TIGHT), runs("", TIGHT, partition="gpu"))
    write_runs(logs / "new.jsonl", runs("", TIGHT, partition="other"))
    assert str(compare(*labelled(logs)).exception).startswith(
        "'before' and 'after' share no partition"
    )
