# SPDX-License-Identifier: BSD-3-Clause
"""Sessions, nights and findings for the tests."""

from datetime import date
from pathlib import Path

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.nightly import night as steps
from fabric_checks.nightly.model import Acknowledgement, Entry, Night
from fabric_checks.records.runs import Case, Session
from tests import builders as samples

MACHINE = "sys:part+mpich"
#: One of which nothing is known yet.
SESSION = "20260101T000000Z-aaaa"
NIGHT = Night(SESSION, "sys", "nightly")


def case(test, result="pass", reason=None, phase="sanity", fixture=False):
    """Return a case of the system `sys`."""
    has_values = not reason or phase == "performance"
    metrics = frozenset({"m"} if has_values else ())
    return Case(
        f"{test} @{MACHINE}",
        result,
        phase if reason else None,
        reason,
        fixture,
        metrics,
    )


def record(test, metric="m", **changes):
    """Return a record of the system `sys`."""
    of = {
        "system": "sys",
        "partition": "part",
        "environ": "mpich",
        "check": test.split()[0],
        "test": test,
    }
    return samples.record(
        metric=metric, **(of | {"findings": None, "nodelist": ["n1", "n2"]} | changes)
    )


def session(*cases, records=None):
    """Return a session; each case that passed or missed a reference has a record, unless they are given."""
    if records is None:
        measured = [
            each
            for each in cases
            if each.metrics and each.result != "fail_deps" and not each.fixture
        ]
        records = [record(each.name.split(" @")[0]) for each in measured]
    return Session(SESSION, Path("report.json"), tuple(cases), tuple(records))


def fault(*hosts, kind="sender", severity="fault", text="", **more):
    """Return the finding of a case's analysis on a slow node or path, as a record has it."""
    of = {
        "kind": kind,
        "severity": severity,
        "text": text or f"{kind} {' to '.join(hosts)}",
        "hosts": list(hosts),
    }
    return of | more


def finding(
    key="n3",
    cases=("A @x",),
    title="node n3 is slow",
    sizes=(("own n3", 0.5),),
    keys=(),
    **more,
):
    """Return an entry; :param sizes: of its findings by their keys, of which "us" at the end is the unit."""
    found = tuple(
        Finding(
            kind=name.rpartition(" ")[0] or name, severity=Severity.FAULT, text=title, key=name, size=size,
            size_unit="us" if name.endswith("us") else "share", details=("a detail",),
            **({"part": title.split(" is ")[0]} | more),
        )
        for name, size in dict(sizes).items()
    )  # fmt: skip
    return Entry(findings=found, keys=frozenset({key, *keys}), cases=frozenset(cases))


def acknowledged(entry, until="2026-02-01", **changes):
    """Return the acknowledgement of a finding that is open."""
    of = {
        "reason": "cable is ordered",
        "ticket": "HW-1",
        "by": "op",
        "at": "2026-01-02T08:00:00+00:00",
    } | changes
    return Acknowledgement(
        entry.id, entry.finding.sizes, until=date.fromisoformat(until), **of
    )


def night(number, *findings, measured=("A @x",), **changes):
    of = {
        "findings": findings,
        "measured": frozenset(measured),
        "cases": 1,
        "passed": 1,
        "records": 1,
    }
    return Night(
        f"2026010{number}T210000Z-000{number}", "sys", "nightly", **(of | changes)
    )


def spend(plan, monkeypatch, elapsed_s):
    """Spend a night whose run took so long, and return its summary."""
    monkeypatch.setattr(steps, "run", lambda *_: elapsed_s)
    return steps.spend(plan, 0)
