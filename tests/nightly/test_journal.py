# SPDX-License-Identifier: BSD-3-Clause
"""The journal: what is new, what is still open, what is over."""

import json

import pytest

from fabric_checks.errors import RecordError
from fabric_checks.nightly import journal
from tests.nightly.samples import finding, night


def spent(path, *nights):
    """Spend nights one after the other, and return what is new of each."""
    told = []
    for each in nights:
        journal.begin(path, each.session, each.level)
        told.append(journal.news(journal.read(path, []), each))
        journal.end(path, each)
    return told


def titles(news):
    return {
        kind: [entry.finding.title for entry in getattr(news, kind)]
        for kind in ("new", "still", "closed", "unseen")
        if getattr(news, kind)
    }


def test_a_finding_is_new_then_still_open_then_closed_then_forgotten(tmp_path):
    slow = finding()
    told = spent(tmp_path / "j", night(1), night(2, slow), night(3, slow), night(4), night(5), night(6, slow))
    name = slow.title
    assert [titles(news) for news in told] == [
        {},
        {"new": [name]},
        {"still": [name]},
        {"closed": [name]},
        {},
        {"new": [name]},
    ]
    (still,) = told[2].still
    assert (still.since, still.last, still.nights) == (night(2).session, night(3).session, 2)
    (closed,) = told[3].closed
    assert (closed.since, closed.last) == (night(2).session, night(3).session)


def test_what_was_not_looked_at_stays_open(tmp_path):
    """A short level, or a night that failed, closes nothing."""
    slow = finding(cases=("Rotate @x", "Shift @x"))
    rest = [night(2 + number, measured=each) for number, each in enumerate([(), ("B @x",), ("Shift @x",)])]
    told = spent(tmp_path / "j", night(1, slow), *rest)
    assert [list(titles(news)) for news in told] == [["new"], ["unseen"], ["unseen"], ["closed"]]


def test_the_same_cause_seen_by_another_case_is_the_same_finding(tmp_path):
    told = spent(
        tmp_path / "j", night(1, finding(cases=("A @x",))), night(2, finding(cases=("B @x",), title="n3 again"))
    )
    assert titles(told[1]) == {"still": ["n3 again"]}


def test_two_findings_that_turn_out_to_be_one(tmp_path):
    one, two = finding("case:A", ["A @x"], "A failed"), finding("case:B", ["B @x"], "B failed")
    both = type(one)("n3 is slow", (), frozenset({"hosts:n3", "case:A", "case:B"}), frozenset({"A @x", "B @x"}))
    told = spent(tmp_path / "j", night(1, one, two), night(2, both, measured=("A @x", "B @x")))
    assert titles(told[1]) == {"still": ["n3 is slow"]}


def test_a_night_that_is_judged_again_changes_no_other(tmp_path):
    path, slow = tmp_path / "j", finding()
    spent(path, night(1), night(2, slow), night(3, slow), night(4))
    again = journal.news(journal.read(path, []), night(2, slow))
    journal.end(path, night(2, slow))
    assert titles(again) == {"new": [slow.title]}
    assert [entry.session for entry in journal.read(path, [])] == [night(n).session for n in (1, 2, 3, 4)]
    # What was judged after it does not count: judged as quiet, the second night has nothing to close.
    spent(path, night(5, slow))
    assert titles(journal.news(journal.read(path, []), night(2))) == {}
    assert titles(journal.news(journal.read(path, []), night(6))) == {"closed": [slow.title]}


def test_the_order_is_that_of_the_nights_and_not_of_their_dates(tmp_path):
    """A clock that was set back: the second night has the earlier date."""
    told = spent(tmp_path / "j", night(5, finding()), night(3), night(4))
    assert [list(titles(news)) for news in told] == [["new"], ["closed"], []]


def test_a_night_that_was_cut_short_is_known(tmp_path):
    path = tmp_path / "j"
    spent(path, night(1))
    journal.begin(path, night(2).session, "nightly")
    entries = journal.read(path, [])
    assert journal.cut_short(entries, night(3).session) == [night(2).session]
    assert journal.cut_short(entries, night(2).session) == []


@pytest.mark.parametrize(
    "line", ["{", "[]", "1", '{"session": "x"}', '{"session": "x", "ended": true, "findings": [{}]}', "\x00\x01"]
)
def test_a_corrupt_line_is_named_and_costs_no_other(tmp_path, line):
    path, slow = tmp_path / "j", finding()
    spent(path, night(1, slow))
    with path.open("a") as file:
        file.write(line + "\n")
    warnings = []
    assert len(journal.read(path, warnings)) == 1
    assert len(warnings) == 1 and f"{path}:3: no line of a journal" in warnings[0]
    told = spent(path, night(2, slow))
    assert titles(told[0]) == {"still": [slow.title]}


def test_without_a_journal_nothing_is_known(tmp_path):
    warnings = []
    assert journal.read(tmp_path / "none", warnings) == [] and not warnings
    (tmp_path / "folder").mkdir()
    assert journal.read(tmp_path / "folder", warnings) == [] and "Is a directory" in warnings[0]
    with pytest.raises(RecordError, match="Is a directory"):
        journal.end(tmp_path / "folder", night(1))


def test_a_line_has_all_of_a_finding(tmp_path):
    path = tmp_path / "j"
    journal.end(path, night(1, finding(), failures=("x",)))
    (entry,) = journal.read(path, [])
    assert entry.findings == (finding(),) and entry.ended
    assert json.loads(path.read_text())["status"] == "failed"
