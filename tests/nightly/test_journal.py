# SPDX-License-Identifier: BSD-3-Clause
"""The journal: what is new, what is still open, what is over."""

import json

import msgspec
import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.nightly import journal
from fabric_checks.nightly.journal import Open
from fabric_checks.nightly.model import Night
from tests.nightly.samples import acknowledged, finding, night


def news(path, of):
    return journal.news(journal.read(path, []), of)


def acknowledge(path, **changes):
    """Acknowledge the only finding that is open."""
    (entry,) = journal.still_open(journal.read(path, []))
    journal.append(path, acknowledged(entry, **changes))


def spent(path, *nights):
    """Spend nights one after the other, and return what is new of each."""
    seen = []
    for each in nights:
        journal.append(path, Night(each.session, "sys", each.level, ended=False))
        seen.append(news(path, each))
        journal.append(path, each)
    return seen


SLOW = finding()


@pytest.fixture
def path(tmp_path):
    """Return a journal of one night, which saw SLOW."""
    spent(tmp_path / "j", night(1, SLOW))
    return tmp_path / "j"


def titles(news):
    """Return the titles of findings by their state."""
    found = {}
    for entry in news:
        found.setdefault(entry.state.name.lower(), []).append(entry.finding.title)
    return found


def states(news):
    return list(titles(news))


def test_a_finding_is_new_then_still_open_then_closed_then_forgotten(tmp_path):
    seen = spent(
        tmp_path / "j",
        night(1),
        night(2, SLOW),
        night(3, SLOW),
        night(4),
        night(5),
        night(6, SLOW),
    )
    kinds = [None, "new", "still", "closed", None, "new"]
    assert [titles(news) for news in seen] == [
        {kind: [SLOW.title]} if kind else {} for kind in kinds
    ]
    (still,), (closed,) = seen[2], seen[3]
    assert (still.since, still.last, still.nights) == (
        night(2).session,
        night(3).session,
        2,
    )
    assert (closed.since, closed.last) == (night(2).session, night(3).session)


def test_a_finding_whose_cases_did_not_run_stays_open(tmp_path):
    """A short level, or a night that failed, closes nothing."""
    slow = finding(cases=("Rotate @x", "Shift @x"))
    rest = [
        night(2 + number, measured=each)
        for number, each in enumerate([(), ("B @x",), ("Shift @x",)])
    ]
    seen = spent(tmp_path / "j", night(1, slow), *rest)
    assert [states(news) for news in seen] == [
        ["new"],
        ["unseen"],
        ["unseen"],
        ["closed"],
    ]


def test_two_findings_that_turn_out_to_be_one(tmp_path):
    one, two = finding("A", ["A @x"], "A failed"), finding("B", ["B @x"], "B failed")
    both = finding("n3", ["A @x", "B @x"], "n3 is slow", keys=["A", "B"])
    seen = spent(
        tmp_path / "j", night(1, one, two), night(2, both, measured=("A @x", "B @x"))
    )
    assert titles(seen[1]) == {"still": ["n3 is slow"]}


def test_a_night_that_is_judged_again_changes_no_other(tmp_path):
    path = tmp_path / "j"
    spent(path, night(1), night(2, SLOW), night(3, SLOW), night(4))
    again = news(path, night(2, SLOW))
    journal.append(path, night(2, SLOW))
    assert states(again) == ["new"]
    assert [entry.session for entry in journal.read(path, [])] == [
        night(n).session for n in (1, 2, 3, 4)
    ]
    # What was judged after it does not count: judged as quiet, the second night has nothing to close.
    spent(path, night(5, SLOW))
    assert states(news(path, night(2))) == []
    assert states(news(path, night(6))) == ["closed"]


def test_the_order_is_that_of_the_nights_and_not_of_their_dates(tmp_path):
    """A clock that was set back: the second night has the earlier date."""
    seen = spent(tmp_path / "j", night(5, SLOW), night(3), night(4))
    assert list(map(states, seen)) == [["new"], ["closed"], []]


#: An acknowledgement as its line has it.
KNOWN = msgspec.to_builtins(acknowledged(Open(SLOW, "a", "a", id="abcd")))


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "acknowledged", "finding_id": "x"}',
        json.dumps(KNOWN | {"until": "soon"}),
        json.dumps(KNOWN | {"sizes": {"a": "b"}}),
        "{",
        "[]",
        '{"session": "x"}',
        '{"type": "night", "session": "x", "system": "s", "level": "l", "findings": [{}]}',
        '{"type": "night", "session": "x", "system": "s", "level": "l", "findings": '
        '[{"findings": [], "keys": [], "cases": []}]}',
        "\x00\x01",
    ],
)
def test_a_corrupt_line_is_named_and_costs_no_other(path, line):
    with path.open("a") as file:
        file.write(line + "\n")
    warnings = []
    assert len(journal.read(path, warnings)) == 1
    assert len(warnings) == 1 and f"{path}:3: not a line of a journal" in warnings[0]
    assert states(spent(path, night(2, SLOW))[0]) == ["still"]


def test_without_a_journal_nothing_is_known(tmp_path):
    warnings = []
    assert journal.read(tmp_path / "none", warnings) == [] and not warnings
    assert journal.read(tmp_path, warnings) == [] and "Is a directory" in warnings[0]
    with pytest.raises(RecordError, match="Is a directory"):
        journal.append(tmp_path, night(1))


def test_lines_have_all_of_a_night_and_of_an_acknowledgement(tmp_path):
    whole = night(
        1,
        SLOW,
        failures=["x"],
        warnings=("y",),
        limits={"A @x": {"node": 0.1, "pair": None}},
    )
    journal.append(tmp_path / "j", whole)
    acknowledge(tmp_path / "j")
    entry, known = journal.read(tmp_path / "j", [])
    assert entry == whole and known == acknowledged(*journal.still_open([entry]))


def test_an_acknowledged_finding_is_quiet_until_closed_and_then_new(path):
    acknowledge(path)
    seen = spent(
        path,
        night(2, SLOW),
        night(3, measured=()),
        night(4, SLOW),
        night(5),
        night(6, SLOW),
    )
    assert list(map(states, seen)) == [*[["acknowledged"]] * 3, ["closed"], ["new"]]
    (entry,) = seen[2]
    assert (entry.acknowledged.by, entry.nights) == ("op", 3)


@pytest.mark.parametrize(
    "changed, beyond",
    [
        ({"title": "worded otherwise, 17 of 200", "sizes": {"sender n3": 0.59}}, ""),
        ({"sizes": {"sender n3": 0.4}}, ""),
        ({"sizes": {"sender n3": 0.61}}, "sender n3: 0.5 then, 0.61 now"),
        (
            {"sizes": {"sender n3": 0.9, "receiver n3": 0.2}},
            "sender n3: 0.5 then, 0.9 now; receiver n3",
        ),
        ({"sizes": {"sender n3": 0.5, "pair us": 549.0}}, ""),
        ({"sizes": {"sender n3": 0.5, "pair us": 551.0}}, "pair us: 500 then, 551 now"),
        ({"key": "n4", "sizes": {"sender n4": 0.5}}, "sender n4"),
    ],
    ids=[
        "words and noise",
        "less",
        "grown",
        "another side",
        "us by noise",
        "us by a tenth",
        "moved",
    ],
)
def test_a_finding_that_grows_or_moves_is_new_and_stays_open(tmp_path, changed, beyond):
    path, slow = (
        tmp_path / "j",
        finding(keys=["A"], sizes={"sender n3": 0.5, "pair us": 500.0}),
    )
    spent(path, night(1, slow))
    acknowledge(path)
    second, third = spent(
        path, night(2, finding(**({"keys": ["A"]} | changed))), night(3, slow)
    )
    # On the third it is what it was: that was for then.
    assert [states(second), states(third)] == (
        [["new"], ["still"]] if beyond else [["acknowledged"]] * 2
    )
    assert "; ".join(second[0].beyond) == beyond


def test_an_acknowledgement_ends_with_its_day_and_the_last_counts(path):
    acknowledge(path, until="2026-01-03")
    seen = spent(path, night(2, SLOW), night(3, SLOW), night(4, SLOW))
    assert list(map(states, seen)) == [["acknowledged"], ["acknowledged"], ["still"]]
    acknowledge(path, until="2026-01-30")
    assert states(spent(path, night(5, SLOW))[0]) == ["acknowledged"]
    acknowledge(path, until="2026-01-05")
    assert states(spent(path, night(6, SLOW))[0]) == ["still"]


def test_an_acknowledged_finding_hides_no_other(path):
    """Another node, and two findings that turn out to be one of which one was acknowledged."""
    acknowledge(path)
    other = finding("n5", ["B @x"], "node n5 is slow", {"sender n5": 0.3})
    (seen,) = spent(path, night(2, SLOW, other))
    assert titles(seen) == {"new": [other.title], "acknowledged": [SLOW.title]}
    both = finding(
        cases=["A @x", "B @x"],
        title="both",
        sizes={"own n3": 0.5, "sender n5": 0.3},
        keys=["n5"],
    )
    assert titles(spent(path, night(3, both))[0]) == {"new": ["both"]}


def test_an_acknowledgement_during_a_night_or_before_it_is_judged_again_counts(path):
    journal.append(path, night(2, measured=(), ended=False))
    acknowledge(path)
    assert (
        states(news(path, night(2, SLOW)))
        == states(news(path, night(1, SLOW)))
        == ["acknowledged"]
    )
