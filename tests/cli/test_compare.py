# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks compare`` as a user starts it."""

import json
from functools import partial

import pytest

from tests import calling
from tests.builders import runs, write_runs

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
    [([], 0), (["worse:5%"], 3), (["worse:30%"], 0), (["worse:30%", "missing"], 3)],
)
def test_the_exit_status_is_a_gate(logs, gates, status):
    result = compare(
        *labelled(logs), *(word for each in gates for word in ("--fail-on", each))
    )
    assert result.exit_code == status
    assert ("--fail-on: 1 worse by at least 5 % for certain" in result.stderr) == (
        "worse:5%" in gates
    )


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
        ["{old}", "{old}"],
        ["{old}", "{new}", "--fail-on", "worst"],
    ],
)
def test_wrong_usage(logs, arguments):
    names = {"old": logs / "old.jsonl", "new": logs / "new.jsonl"}
    assert compare(*(each.format(**names) for each in arguments)).exit_code == 2


def test_all_metrics_are_rows(logs):
    result = compare(*labelled(logs), "--all")
    assert [
        line.split()[0]
        for line in result.stdout.splitlines()
        if "OsuLatency" in line and "us" in line
    ] == ["worse", "missing"], result.stdout


def test_sets_that_share_no_partition_are_refused(logs):
    write_runs(logs / "old.jsonl", runs("", TIGHT), runs("", TIGHT, partition="gpu"))
    write_runs(logs / "new.jsonl", runs("", TIGHT, partition="other"))
    assert str(compare(*labelled(logs)).exception).startswith(
        "'before' and 'after' share no partition"
    )
