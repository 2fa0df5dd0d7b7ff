# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks show`: any run, of a folder of results or of records alone."""

import csv
import io
import json
from functools import partial

import pytest

from fabric_checks.records import runs
from tests import calling
from tests.builders import case, write_session
from tests.references.records import record, write

NAMES = [record(day)["session"] for day in range(3)]


invoke = partial(calling.invoke, "show")


@pytest.fixture
def results(tmp_path):
    """Three runs: one that passed, one that was interrupted after a case that failed, one that ran none."""
    folder = write(
        tmp_path / "results", [record(0), record(1), record(1, metric="latency_0B")]
    )
    for number, (name, result) in enumerate(zip(NAMES, ("pass", "fail"), strict=False)):
        of = {
            "system": "yours",
            "partition": "compute",
            "environ": "mpich-cray",
            "fail_phase": "performance",
        }
        values = {"yours:compute:latency_8B": [1.3, 0, None, None, "us", "pass"]}
        measured = case(
            "OsuLatency %layout=2x1",
            result,
            **of,
            fail_reason="slow",
            perfvalues=values,
        )
        left = [case("OsuBandwidth", "abort", **of)] * number
        write_session(folder, [measured, *left], session=name, number=number)
    (folder / f"logs/{NAMES[2]}.log").write_text("")
    return folder


def test_all_runs_are_listed(results):
    done = invoke(results, "--list")
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert rows[0] == ["session", "started", "systems", "cases", "passed"]
    assert rows[-3:] == [
        [NAMES[0], "2026-11-01", "03:00:00", "yours", "1", "1"],
        [NAMES[1], "2026-11-02", "03:00:00", "yours", "2,", "interrupted", "0"],
        [NAMES[2], "2026-11-03", "03:00:00", "none"],
    ]
    listed = json.loads(invoke(results, "--list", "--json").stdout)
    assert [each["session"] for each in listed] == NAMES
    assert invoke(results, "--list", "--csv").stdout.splitlines()[0] == ",".join(
        listed[0]
    )
    assert listed[1] == {
        "session": NAMES[1], "started": "2026-11-02T03:00:00+00:00", "systems": ["yours"], "cases": 2,
        "passed": 0, "interrupted": True,
    }  # fmt: skip


def test_records_alone_will_do(results):
    path = results / "perflogs"
    listed = json.loads(invoke(path, "--list", "--json").stdout)
    assert [(each["session"], each["systems"], each["cases"]) for each in listed] == [
        (NAMES[0], ["yours"], 1),
        (NAMES[1], ["yours"], 1),
    ]
    shown = invoke(path, "--gate")
    assert shown.exit_code == 0, shown.output
    assert "1 of 1 case passed" in shown.stdout and "error" not in shown.stdout
    assert f"records  {path}" in shown.stdout
    # Nothing of a record is lost on the way.
    content = json.loads(invoke(path, "--session", NAMES[0], "--json").stdout)
    rows = list(
        csv.DictReader(io.StringIO(invoke(path, "--session", NAMES[0], "--csv").stdout))
    )
    assert [float(row["value"]) for row in rows] == [row["value"] for row in content]
    assert content == json.loads(
        json.dumps(list(runs.load_session(results, NAMES[0]).records))
    )


def test_what_failed_is_known_from_records_alone(tmp_path):
    failed = record(
        0, None, metric=None, case_result="fail", fail_reason="it\nbroke", unit=None
    )
    path = write(tmp_path, [failed])
    shown = invoke(path, "--gate")
    assert shown.exit_code == 3
    assert "in its job: it broke" in shown.stdout
    assert "0 of 1 case passed, 1 failed" in shown.stdout
