# SPDX-License-Identifier: BSD-3-Clause
"""Sessions, nights and findings for the tests."""

from datetime import date
from pathlib import Path

from fabric_checks.nightly.model import Acknowledgement, Finding, Night
from fabric_checks.records.runs import Case, Session
from tests import builders as samples

MACHINE = "sys:part+mpich"
#: One of which nothing is known yet.
NIGHT = Night("20260101T000000Z-aaaa", "sys", "nightly")


def case(test, result="pass", reason=None, phase="sanity", fixture=False):
    """Return a case of the system `sys`."""
    has_values = not reason or phase == "performance"
    metrics = frozenset({"m"} if has_values else ())
    return Case(f"{test} @{MACHINE}", result, phase if reason else None, reason, fixture, metrics)


def record(test, metric="m", **changes):
    """Return a record of the system `sys`."""
    of = {"system": "sys", "partition": "part", "environ": "mpich", "check": test.split()[0], "test": test}
    return samples.record(metric=metric, **(of | {"findings": None, "nodelist": ["n1", "n2"]} | changes))


def session(*cases, records=None):
    """Return a session; each case that passed or missed a reference has a record, unless they are given."""
    if records is None:
        measured = [each for each in cases if each.metrics and each.result != "fail_deps" and not each.fixture]
        records = [record(each.name.split(" @")[0]) for each in measured]
    return Session("20260101T000000Z-aaaa", Path("report.json"), tuple(cases), tuple(records))


def fault(*hosts, kind="sender", confirmed=True, text=""):
    """Return the finding of a case's analysis on a slow node or path."""
    certain = confirmed and kind in ("sender", "receiver", "pair", "port", "rail", "host")
    return {"kind": kind, "hosts": list(hosts), "fault": certain, "text": text or f"{kind} {' to '.join(hosts)}"}


def finding(key="hosts:n3", cases=("A @x",), title="node n3 is slow", signs=(("sender n3", 0.5),), keys=(), **more):
    of = {"signs": dict(signs), "subject": title.split(" ")[0]} | more
    return Finding(title, ("a detail",), frozenset({key, *keys}), frozenset(cases), **of)


def acknowledged(entry, until="2026-02-01", **changes):
    """Return the acknowledgement of a finding that is open."""
    of = {"reason": "cable is ordered", "ticket": "HW-1", "by": "op", "at": "2026-01-02T08:00:00+00:00"} | changes
    return Acknowledgement(entry.id, dict(entry.finding.signs), until=date.fromisoformat(until), **of)


def night(number, *findings, measured=("A @x",), **changes):
    of = {"findings": findings, "measured": frozenset(measured), "cases": 1, "passed": 1, "records": 1}
    return Night(f"2026010{number}T210000Z-000{number}", "sys", "nightly", **(of | changes))
