# SPDX-License-Identifier: BSD-3-Clause
"""The table that a run ends with."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from fabric_checks.records.runs import Case, Session
from fabric_checks.report.terminal import summary
from tests.builders import SESSION as NAME
from tests.builders import bare as record


def shown(*records, cases=(), unreadable=(), width=160):
    out = io.StringIO()
    console = Console(
        file=out, width=width, highlight=False, force_terminal=True, color_system=None
    )
    for part in summary.render(
        Session(NAME, Path("x"), tuple(cases), tuple(records), (), tuple(unreadable))
    ):
        console.print(part, soft_wrap=isinstance(part, Text))
    return out.getvalue()


def curve(*points, **changes):
    return [
        record(
            metric=f"latency_{size}B",
            quantity="latency",
            size_B=size,
            value=value,
            **changes,
        )
        for size, value in points
    ]


def test_curves_are_folded_and_scalars_are_not():
    text = shown(
        *curve((0, 1.0), (1024, 2.5), (4 * 1024**2, 1234.5)),
        record(metric="t", value=0.012345, unit="s"),
    )
    (line,) = (
        line
        for line in text.splitlines()
        if "no reference: [1]" in line and "latency" in line
    )
    assert (
        "0:1 1K:2.5 4M:1234" in line and " us " in line and "no reference: [1]" in line
    )
    assert any("t " in line and "0.01235" in line for line in text.splitlines())
    assert "[1] why" in text


def test_what_missed_its_reference_stands_by_itself():
    judged = {"no_reference": None, "reference": 1.0, "lower": None, "upper": 0.1}
    good, bad = (
        curve((0, 1.0), **judged),
        curve((1, 2.0), **judged | {"result": "fail"}),
    )
    text = shown(*good, *bad)
    assert "pass: 1 (at most 1.1)" in text
    (line,) = (line for line in text.splitlines() if "fail: 1 (" in line)
    assert "latency_1B" in line and " 2 " in line


@pytest.mark.parametrize(
    "reference, lower, upper, text",
    [
        (100.0, -0.05, None, "pass: 100 (at least 95)"),
        (100.0, -0.05, 0.1, "pass: 100 (95 to 110)"),
        (-2.0, None, 0.5, "pass: -2 (at most -1)"),
        (10.0, None, 0.0, "pass: 10 (at most 10)"),
    ],
)
def test_bounds(reference, lower, upper, text):
    judged = {
        "no_reference": None,
        "reference": reference,
        "lower": lower,
        "upper": upper,
    }
    assert summary.reference_text(record(**judged), summary.Footnotes()) == text


def test_failures_and_gaps_are_said():
    text = shown(
        record(not_offered={"imb": "no such ABI"}, environ="openmpi"),
        cases=[
            Case("A %layout=1x2 @s:p+e", "pass", None, None, False),
            Case("B @s:p+e", "fail", "run", "node n7 died", False),
        ],
        unreadable=["x.jsonl:3: not a JSON object"],
    )
    assert "failed: B @s:p+e\n  in run: node n7 died" in text
    assert "1 of 2 cases passed, 1 failed" in text
    assert "warning: x.jsonl:3: not a JSON object" in text
    assert "Not run\n  imb (openmpi): no such ABI" in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_any_width_keeps_every_value(width):
    text = shown(*curve(*((2**n, 1000.0 + n) for n in range(23))), width=width)
    joined = "".join(text.split())
    for n in range(23):
        assert f"{1000 + n}" in joined


def test_findings_are_there_once():
    found = [{"kind": "sender", "severity": "note", "text": "node n7 is slow\x1b[2J"}]
    text = shown(
        record(findings=found),
        record(metric="other", findings=found),
        record(test="Other", findings=None),
    )
    assert text.count("node n7 is slow") == 1
    assert "What else was seen" in text and "\x1b" not in text


def test_values_of_a_simulation_say_what_they_are():
    judged = {
        "no_reference": None,
        "reference": 1.0,
        "lower": -0.1,
        "upper": 0.1,
        "reference_source": "SAND Table 2",
    }
    text = shown(
        record(metric="a", **judged, evidence="fitted"),
        record(metric="b", **judged, evidence="predicted"),
        record(metric="c", evidence="simulated"),
        width=200,
    )
    for metric, words in (
        ("a", "fitted; pass: 1"),
        ("b", "predicted; pass: 1"),
        ("c", "simulated; no"),
    ):
        assert any(
            f" {metric} " in line and words in line for line in text.splitlines()
        ), text
    assert "[1] SAND Table 2" in text
