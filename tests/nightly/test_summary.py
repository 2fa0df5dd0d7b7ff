# SPDX-License-Identifier: BSD-3-Clause
"""The summary as Markdown and as JUnit's XML."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from junitparser import JUnitXml

from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import News, Open
from fabric_checks.nightly.summary import (
    Summary,
    as_json,
    headline,
    junit,
    lines_of,
    markdown,
    terminal,
    when,
)
from tests.nightly.samples import acknowledged, finding, night

OLD = night(1).session


def known(**changes):
    """Return a finding that is open and acknowledged."""
    entry = Open(finding("k", title="n9 is slow"), OLD, OLD, 2, "abcd")
    return replace(entry, known=acknowledged(entry, **changes))


def summary_of(*findings, files=None, still=(), closed=(), unseen=(), acknowledged=(), **changes):
    quiet = tuple(entry.finding for entry in acknowledged)
    of = night(2, *findings, *still, *quiet, acknowledged=quiet, **changes)
    new = tuple(Open(each, of.session, of.session) for each in findings)
    rest = [
        tuple(
            Open(each, OLD, OLD, 2, why_open="no case ran" if entries is unseen else "") for each in entries
        )
        for entries in (still, closed, unseen)
    ]
    return Summary(of, News(new, *rest, acknowledged), files or {})


@pytest.mark.parametrize(
    ("night_", "says", "status", "is_silent"),
    [
        (summary_of(), "passed", Verdict.PASSED, True),
        (summary_of(acknowledged=(known(),)), "passed (1 acknowledged)", Verdict.PASSED, True),
        (summary_of(closed=[finding()]), "passed (1 closed)", Verdict.PASSED, False),
        (summary_of(unseen=[finding()]), "passed (1 open, not looked at)", Verdict.PASSED, False),
        (summary_of(busy="load 9 on 4 cores"), "busy: load 9 on 4 cores", Verdict.BUSY, True),
        (summary_of(blind=("too noisy; reserve",)), "blind: too noisy; reserve", Verdict.BLIND, False),
        (
            summary_of(finding(), blind=("noisy",)),
            "1 finding (1 new), and blind: noisy",
            Verdict.FINDINGS,
            False,
        ),
        (
            summary_of(warnings=("a line is broken",), due=("a line is broken",)),
            "passed",
            Verdict.PASSED,
            False,
        ),
        (summary_of(warnings=("a line is broken",)), "passed", Verdict.PASSED, True),
        (summary_of(finding()), "1 finding (1 new)", Verdict.FINDINGS, False),
        (
            summary_of(finding("a"), still=[finding("b")]),
            "2 findings (1 new, 1 still open)",
            Verdict.FINDINGS,
            False,
        ),
        (
            summary_of(finding(), acknowledged=(known(),)),
            "1 finding (1 new, 1 acknowledged)",
            Verdict.FINDINGS,
            False,
        ),
        (summary_of(finding(), failures=("the disk is full",)), "failed (1 new)", Verdict.FAILED, False),
    ],
    ids=[
        "quiet",
        "acknowledged",
        "closed",
        "unseen",
        "busy",
        "blind",
        "blind with a finding",
        "warned",
        "warned last night",
        "new",
        "still",
        "one of two acknowledged",
        "failed",
    ],
)
def test_the_headline_the_status_and_whether_there_is_anything_to_report(night_, says, status, is_silent):
    assert (headline(night_), night_.night.verdict, night_.all_quiet) == (says, status, is_silent)
    assert markdown(night_).splitlines()[0] == f"# sys, 2026-01-02 21:00, nightly: {says}"


def test_of_many_warnings_the_first_are_listed_and_the_json_has_all():
    night_ = summary_of(warnings=tuple(f"line {number}" for number in range(9)))
    listed = [line for line in markdown(night_).splitlines() if "line" in line or "more" in line]
    assert listed == [
        *(f"- warning: line {number}" for number in range(6)),
        "- and 3 more: night.json has all",
    ]
    assert len(json.loads(as_json(night_))["warnings"]) == 9


def test_the_summary_has_every_section():
    text = markdown(
        summary_of(
            finding("a", title="n3 is slow"), still=[finding("b", title="n4 is slow")],
            closed=[finding("c", title="n5 was slow")], unseen=[finding("d", title="n6 was slow")],
            failures=("no archive",), warnings=("a line is broken",), nights=9, elapsed_s=90,
            files={"report": "/r.html"},
        )
    )  # fmt: skip
    for line in (
        "**The night failed:** no archive",
        "**New:** n3 is slow.\n- a detail",
        "**Since 2026-01-01 21:00, 2 nights:** n4 is slow.",
        (
            "**Closed:** n5 was slow, open since 2026-01-01 21:00, last seen 2026-01-01 21:00: "
            "tonight's run would have shown it, and did not."
        ),
        "**Open, not looked at tonight:** n6 was slow: no case ran. Open since 2026-01-01 21:00",
        "- warning: a line is broken",
        "1 case ran, 1 passed; 1 value; 1.5 min. The history has 9 runs.",
        "- report: /r.html",
    ):
        assert line in text
    assert "\n\n\n" not in text


def test_a_terminal_gets_text_without_markup():
    hostile = "A @s:p+e: <b> *x* | y\x1b[31m\n# z"
    text = terminal(summary_of(finding(title=hostile), warnings=("see http://a.b",)))
    assert "New: A @s:p+e: <b> *x* | y?[31m # z." in text and "http://a.b" in text
    assert not any(mark in text for mark in ("**", "&#58;", "\\"))
    marked = markdown(summary_of(finding(title=hostile)))
    assert "**New:** A @ s&#58;p+e: \\<b\\> \\*x\\* \\| y?\\[31m \\# z." in marked


def test_an_acknowledged_finding_is_one_line_with_its_ticket_and_reason():
    lines = markdown(summary_of(acknowledged=(known(reason="x\ny"),))).splitlines()
    expected = "**Acknowledged:** n9 is slow; HW-1: x y (op, 2026-01-02, until 2026-02-01)."
    assert [line for line in lines if "n9" in line or "HW-1" in line] == [expected]


def test_the_end_of_an_acknowledgement_has_its_reason():
    over = summary_of()
    entry = Open(finding(), OLD, night(2).session, 2)
    grown = replace(over, news=News(new=(replace(entry, beyond=("sender n3: 50 % then, 70 % now",)),)))
    assert "**New:** node n3 is slow.\n- more than was acknowledged: sender n3: 50 %" in markdown(grown)
    ended = replace(over, news=News(still=(known(until="2026-01-01"),)))
    assert "n9 is slow.\n- its acknowledgement has ended: HW-1: cable is ordered (op" in markdown(ended)


def test_each_open_finding_is_a_line():
    entry = replace(known(), known=None)
    first = "abcd, since 2026-01-01 21:00: n9 is slow"
    assert lines_of([entry, known(), replace(entry, beyond=("a sign",))]) == (
        first,
        f"{first}; acknowledged, HW-1: cable is ordered (op, 2026-01-02, until 2026-02-01)",
        f"{first}; more than was acknowledged: a sign",
    )


def test_a_quiet_night_is_short_and_a_simulation_is_called_one():
    text = markdown(summary_of(nights=3, simulated=True, elapsed_s=6))
    assert len(text.splitlines()) == 3 and "1 simulated value;" in text


def test_junit_has_the_cases_and_the_findings(tmp_path):
    cases = tmp_path / "cases.xml"
    cases.write_text(
        '<testsuites><testsuite name="r" tests="1"><testcase name="A @x"'
        ' classname="c"/></testsuite></testsuites>'
    )
    whole = junit(
        summary_of(finding(), closed=[finding("c")], acknowledged=(known(),), failures=("no\x00 archive",)),
        cases,
    )
    path = tmp_path / "junit.xml"
    whole.write(str(path))
    tree = ElementTree.parse(path).getroot()
    assert (tree.get("tests"), tree.get("failures"), tree.get("errors")) == ("5", "1", "1")
    names = {case.get("name"): [child.tag for child in case] for case in tree.iter("testcase")}
    assert names == {
        "A @x": [], "the night ran to its end": ["error"], "node n3 is slow": ["failure"],
        "closed: node n3 is slow": [], "acknowledged: n9 is slow": ["skipped"],
    }  # fmt: skip


@pytest.mark.parametrize("text", [None, "", "<"])
def test_junit_without_sound_cases_has_the_night(tmp_path, text):
    cases = tmp_path / "cases.xml"
    if text is not None:
        cases.write_text(text)
    whole = junit(summary_of(), cases)
    assert "night of sys" in [suite.name for suite in whole]
    whole.write(str(tmp_path / "junit.xml"))
    assert JUnitXml.fromfile(str(tmp_path / "junit.xml")).tests == 1


def test_a_session_is_called_by_its_date_if_it_has_one():
    assert [when(name) for name in ("20260102T210000Z-0002", "mine", "20260102_2100")] == [
        *("2026-01-02 21:00", "mine", "20260102_2100")
    ]
