# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a night, for a terminal and as Markdown."""

import json
from dataclasses import replace

import pytest

from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import Open, State
from fabric_checks.nightly.summary import (
    Summary,
    as_json,
    headline,
    lines_of,
    markdown,
    terminal,
    when,
)
from tests.nightly.samples import acknowledged, finding, night

OLD = night(1).session


def opened(state=State.NEW, title="node n3 is slow", **changes):
    """Return a finding in a state."""
    since = night(2).session if state is State.NEW else OLD
    return Open(finding(title=title), since, since, 2, "abcd", state, **changes)


def known(title="n9 is slow", **changes):
    """Return a finding that is open and acknowledged."""
    entry = opened(State.ACKNOWLEDGED, title)
    return replace(entry, acknowledged=acknowledged(entry, **changes))


def summary_of(*news, due=(), files=None, **changes):
    return Summary(night(2, **changes), news, due, files or {})


CLOSED, UNSEEN = (
    opened(State.CLOSED, "n5 was slow"),
    opened(State.UNSEEN, "n6 was slow", why_open="none ran"),
)
STILL = opened(State.STILL, "n4 is slow")


@pytest.mark.parametrize(
    "of, says, status, is_silent",
    [
        (summary_of(), "passed", Verdict.PASSED, True),
        (summary_of(known()), "passed (1 acknowledged)", Verdict.PASSED, True),
        (summary_of(CLOSED), "passed (1 closed)", Verdict.PASSED, False),
        (summary_of(UNSEEN), "passed (1 not looked at)", Verdict.PASSED, False),
        (summary_of(busy="load 9 on 4 cores"), "busy: load 9 on 4 cores", Verdict.BUSY, True),
        (summary_of(incomplete="8 of 9 cases ran", busy="load 9 on 4 cores"), "incomplete: 8 of 9 cases ran",
         Verdict.INCOMPLETE, False),
        (summary_of(opened(), incomplete="8 of 9 cases ran"), "incomplete: 8 of 9 cases ran (1 new)",
         Verdict.INCOMPLETE, False),
        (summary_of(blind=("noisy; reserve",)), "blind: noisy; reserve", Verdict.BLIND, False),
        (summary_of(opened(), blind=("noisy",)), "1 finding (1 new), and blind: noisy", Verdict.FINDINGS, 0),
        (summary_of(due=["a line is broken"]), "passed", Verdict.PASSED, False),
        (summary_of(warnings=("a line is broken",)), "passed", Verdict.PASSED, True),
        (summary_of(opened(), STILL, known()), "2 findings (1 new, 1 open, 1 acknowledged)",
         Verdict.FINDINGS, False),
        (summary_of(opened(), failures=("the disk is full",)), "failed (1 new)", Verdict.FAILED, False),
    ],
)  # fmt: skip
def test_the_headline_the_status_and_whether_there_is_anything_to_report(
    of, says, status, is_silent
):
    assert (headline(of), of.verdict, of.all_quiet) == (says, status, is_silent)
    assert markdown(of).splitlines()[0] == f"# sys, 2026-01-02 21:00, nightly: {says}"


def test_of_many_warnings_the_first_are_listed_and_the_json_has_all():
    of = summary_of(warnings=tuple(f"line {number}" for number in range(9)))
    listed = [
        line for line in markdown(of).splitlines() if "line" in line or "more" in line
    ]
    assert (
        listed[-2:] == ["- warning: line 5", "- and 3 more: night.json has all"]
        and len(listed) == 7
    )
    assert len(json.loads(as_json(of))["warnings"]) == 9


def test_the_summary_has_every_section():
    text = markdown(summary_of(
        opened(), STILL, CLOSED, UNSEEN, known(reason="x\ny"), failures=("no history",),
        warnings=("a line is broken",), nights=9, elapsed_s=90, files={"report": "/r.html"},
    ))  # fmt: skip
    assert (
        text.partition("\n\n")[2]
        == """\
**The night failed:** no history

**New:** node n3 is slow.
- a detail
- seen by A @ x

**Since 2026-01-01 21:00, 2 nights:** n4 is slow.
- a detail
- seen by A @ x

**Acknowledged:** n9 is slow; acknowledged until 2026-02-01, HW-1: x y (op, 2026-01-02).

**Closed:** n5 was slow, open since 2026-01-01 21:00, last seen 2026-01-01 21:00: \
tonight's run would have shown it, and did not.

**Open, not looked at tonight:** n6 was slow: none ran. \
Open since 2026-01-01 21:00, last seen 2026-01-01 21:00.

- warning: a line is broken

1 case ran, 1 passed; 1 value; 1.5 min. The history has 9 runs.

- report: /r.html
"""
    )


def test_a_terminal_gets_text_without_markup():
    hostile = "A @s:p+e: <b> *x* | y\x1b[31m\n# z"
    of = summary_of(opened(title=hostile), warnings=("see http://a.b",))
    text = terminal(of)
    assert "New: A @s:p+e: <b> *x* | y?[31m # z." in text and "http://a.b" in text
    assert not any(mark in text for mark in ("**", "&#58;", "\\"))
    assert "**New:** A @ s&#58;p+e: \\<b\\> \\*x\\* \\| y?\\[31m \\# z." in markdown(of)


def test_what_is_more_than_was_acknowledged_is_told():
    text = markdown(summary_of(opened(beyond=("sender n3: 0.5 then, 0.7 now",))))
    assert (
        "**New:** node n3 is slow.\n- more than was acknowledged: sender n3: 0.5"
        in text
    )


def test_each_open_finding_is_a_line():
    entry = replace(known(), acknowledged=None)
    first = "abcd, since 2026-01-01 21:00: n9 is slow"
    assert lines_of([entry, known(), replace(entry, beyond=("a sign",))]) == [
        first,
        f"{first}; acknowledged until 2026-02-01, HW-1: cable is ordered (op, 2026-01-02)",
        f"{first}; more than was acknowledged: a sign",
    ]


def test_a_quiet_night_is_short_and_a_simulation_is_called_one():
    text = markdown(summary_of(nights=3, simulated=True, elapsed_s=6))
    assert len(text.splitlines()) == 3 and "1 simulated value;" in text


def test_a_session_is_called_by_its_date_if_it_has_one():
    assert [when(name) for name in ("20260102T210000Z-0002", "mine")] == [
        "2026-01-02 21:00",
        "mine",
    ]
