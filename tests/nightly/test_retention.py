# SPDX-License-Identifier: BSD-3-Clause
"""Retention: a broken file costs no record."""

import re
from datetime import datetime, timedelta, timezone

from fabric_checks.nightly import retention
from tests import builders as samples


def results(tmp_path, *records):
    samples.write(tmp_path / "results/perflogs/s/p/A.jsonl", records)
    return tmp_path / "results"


def test_a_broken_file_is_put_aside_and_written_again(tmp_path):
    folder, archive = (
        results(tmp_path, samples.record(0), samples.record(0, metric="other")),
        tmp_path / "archive",
    )
    assert retention.archive_results(folder, archive, "one") == []
    (path,) = archive.rglob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    (line,) = retention.archive_results(folder, archive, "two")
    assert (
        str(path) in line
        and "it was moved aside to records-1.parquet.broken-two" in line
    )
    assert (
        path.with_name("records-1.parquet.broken-two").read_bytes()
        == whole[: len(whole) // 2]
    )
    assert samples.load(archive).frame.height == 2
    assert retention.archive_results(folder, archive, "three") == []


def test_a_report_of_the_archive_equals_that_of_the_results(tmp_path):
    """And what could not be archived."""
    now = datetime.now(timezone.utc)
    folder = results(
        tmp_path,
        *(
            samples.record(0, time=(now - timedelta(days=n)).isoformat())
            for n in (2, 1)
        ),
        b"{\n",
    )
    left_out = retention.archive_results(folder, tmp_path / "archive", "one")
    retention.write_report(folder, "s", tmp_path / "one.html")
    retention.write_report(
        folder,
        "s",
        tmp_path / "two.html",
        archive=tmp_path / "archive",
        left_out=left_out,
    )
    one, two = (
        re.sub(r"\d\d:\d\d(:\d\d)?", "", (tmp_path / name).read_text())
        for name in ("one.html", "two.html")
    )
    assert "A.jsonl:3" in one and one == two
