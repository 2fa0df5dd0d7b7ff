# SPDX-License-Identifier: BSD-3-Clause
"""The report of a night has the last months, and what could not be read."""

from datetime import datetime, timedelta, timezone

from fabric_checks.nightly import retention
from tests import builders as samples


def test_the_report_is_of_the_last_months_and_names_what_could_not_be_read(tmp_path):
    now = datetime.now(timezone.utc)
    records = [
        samples.record(0, time=(now - timedelta(days=days)).isoformat(), value=value)
        for days, value in ((retention.DAYS + 1, 111.0), (2, 222.0), (1, 333.0))
    ]
    samples.write(tmp_path / "perflogs/s/p/A.jsonl", [*records, b"{\n"])
    retention.write_report(tmp_path, "s", tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text()
    assert "A.jsonl:4" in page and "333" in page and "222" in page
    assert "111" not in page
