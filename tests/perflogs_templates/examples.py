# SPDX-License-Identifier: BSD-3-Clause
"""Records to send."""

from fabric_checks.records.record import FIELDS


def record(**changes):
    """Return a record of a value that passed."""
    return dict.fromkeys(FIELDS) | {
        "format": 2, "session": "20260101T000000Z-test", "time": "2026-01-01T00:00:10+00:00", "system": "s",
        "partition": "p", "environ": "e", "check": "A", "test": "A %layout=1x2", "layout": "1x2",
        "metric": "latency_0B",
        "quantity": "latency", "size_B": 0, "value": 1.5, "unit": "us", "better": "smaller", "reference": 1.0,
        "lower": None, "upper": 0.9, "result": "pass", "case_result": "pass", "nodelist": ["n1", "n2"],
        "sizes_B": [0, 1], "not_offered": {"npb": "no wheel"},
        "findings": [{"kind": "slow", "text": "n1 is slow", "hosts": ["n1"], "share": 0.4}],
    } | changes  # fmt: skip


def failed_case(**changes):
    """Return the record of a case that failed before it had values, and before it had a time."""
    nothing = dict.fromkeys(("metric", "quantity", "size_B", "value", "unit", "better", "result", "time"))
    nothing |= dict.fromkeys(("reference", "upper"))
    return record(**nothing, case_result="fail", fail_reason="broken\nin two lines") | changes
