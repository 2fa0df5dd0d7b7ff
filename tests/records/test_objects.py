# SPDX-License-Identifier: BSD-3-Clause
"""The records of one session, with all that they say."""

import os

from fabric_checks.records import reading
from fabric_checks.records.sources import Faults
from tests.records.samples import record, write


def test_the_records_of_a_session_come_with_what_this_release_does_not_know(tmp_path):
    ours = record(jobid="7", vendor={"of": "later"})
    write(tmp_path / "perflogs/s/p/A.jsonl", [record(1), ours, b"{half"])
    write(tmp_path / "perflogs/s/p/B.jsonl", [record(metric="other")])
    faults = Faults()
    found = reading.of_session(tmp_path, ours["session"], 0.0, faults)
    assert [(each["metric"], each.get("vendor")) for each in found] == [
        ("latency_8B", {"of": "later"}),
        ("other", None),
    ]
    assert len(list(faults.lines())) == 1


def test_files_that_were_not_written_to_since_are_passed_over(tmp_path):
    path = write(tmp_path / "perflogs/s/p/A.jsonl", [record()])
    os.utime(path, (1000, 1000))
    assert len(reading.of_session(tmp_path, record()["session"], 1000, Faults())) == 1
    assert reading.of_session(tmp_path, record()["session"], 1001, Faults()) == []


def test_without_perflogs_there_are_none(tmp_path):
    assert reading.of_session(tmp_path, "x", 0.0, Faults()) == []
