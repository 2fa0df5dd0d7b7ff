# SPDX-License-Identifier: BSD-3-Clause
"""Messages: which nights have which, and that hostile names are text in each form."""

import json

import pytest

from fabric_checks.nightly.journal import still_open
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.wall import messages
from tests.nightly.samples import acknowledged, finding, night

HOSTILE = "n3 <!channel> @all **b** [x](http://e.vil) www.e.vil ~town :tada: <b>&\n\x1b[31m\ud800 is slow"


def entry(number, *findings, ended=True, measured=("A @x",), simulated=False):
    of = {"measured": measured} if ended else {"measured": (), "findings": ()}
    return night(number, *findings, ended=ended, simulated=simulated, **of)


def of(*entries, nights=None):
    """Return event, number of the night and title of all messages."""
    sessions = {each.session for each in entries if isinstance(each, Night)} if nights is None else nights
    found = messages.of_nights("sys", entries, sessions)
    return [(each["event"], int(each["session"][7]), each["title"].split(": ", 1)[1]) for _, each in found]


N3, N7 = finding(), finding("hosts:n7", title="node n7 is slow", signs=[("sender n7", 0.3)])
WORSE = finding(signs=[("sender n3", 0.7)])


def test_a_finding_is_sent_when_it_is_new_changed_and_closed():
    assert of(entry(1), entry(2, N3), entry(3, N3), entry(4, WORSE), entry(5), entry(6)) == [
        ("new", 2, "node n3 is slow"),
        ("changed", 4, "node n3 is slow"),
        ("closed", 5, "node: this night would have shown it, and did not"),
    ]
    ((_, changed),) = messages.of_nights("sys", [entry(1, N3), entry(2, WORSE)], {entry(2).session})
    assert changed["lines"][0] == "more than before: sender n3, 50 % lost before, 70 % now"


def test_a_healthy_night_a_night_that_did_not_look_and_one_that_was_cut_short_send_nothing():
    assert of(entry(1), entry(2)) == []
    assert (
        of(entry(1, N3), entry(2, measured=()), entry(3, ended=False), nights={entry(2).session, entry(3).session})
        == []
    )


def test_only_the_nights_that_are_meant_have_messages():
    assert of(entry(1, N3), entry(2, N7, N3), nights={entry(2).session}) == [("new", 2, "node n7 is slow")]


def test_an_acknowledged_finding_is_sent_when_there_is_more_of_it_or_it_is_closed():
    known = acknowledged(still_open([entry(1, N3)])[0])
    later = finding(signs=[("sender n3", 0.5), ("receiver n3", 0.5)])
    assert of(entry(1, N3), known, entry(2, N3), nights={entry(2).session}) == []
    assert of(entry(1, N3), known, entry(2, later), nights={entry(2).session}) == [("changed", 2, "node n3 is slow")]
    assert [event for event, *_ in of(entry(1, N3), known, entry(2))] == ["new", "closed"]


def test_two_findings_that_turn_out_to_be_one_end_the_second():
    both = finding(keys=("hosts:n7",))
    first, second = (each.id for each in still_open([entry(1, N3, N7)]))
    assert of(entry(1, N3, N7), entry(2, both), nights={entry(2).session}) == [
        ("closed", 2, f"node: it is part of {first} now")
    ]
    assert first != second


def bodies(title=HOSTILE, event=1, **changes):
    """Return the bodies of the message on a new finding, or on its end, by form."""
    entries = [entry(1, finding(title=title, subject=title, **changes), simulated=True), entry(2)]
    _, message = next(messages.of_nights("sys", entries, {entries[event - 1].session}))
    return {form: json.loads(messages.body(message, form, "k")) for form in messages.FORMS}


def test_json_has_the_finding_as_data():
    found = bodies("node n3 is slow")["json"]
    assert (found["key"], found["event"], found["system"], found["simulated"]) == ("k", "new", "sys", True)
    assert found["title"].startswith("sys, simulated, new ") and found["title"].endswith(": node n3 is slow")
    assert found["lines"] == ["a detail", "night 20260101T210000Z-0001"] and found["finding"]["signs"] == {
        "sender n3": 0.5
    }


def test_slack_gets_plain_text_without_markup_or_mention():
    found = bodies()["slack"]
    assert found["blocks"][0]["text"]["type"] == "plain_text" and not found["blocks"][0]["text"]["emoji"]
    assert "&lt;!channel&gt;" in found["text"] and not set("<>") & set(found["text"])
    assert len(bodies("x" * 5000)["slack"]["blocks"][0]["text"]["text"]) <= 3000


def test_mattermost_gets_markdown_in_which_names_are_text():
    text = bodies()["mattermost"]["text"]
    assert "@all" not in text and "http://" not in text and "\\[x\\]" in text and "\x1b" not in text
    assert ":tada:" not in text and "&#58;tada:" in text
    assert text.startswith("**sys, simulated, new ") and "\n- a detail\n" in text


@pytest.mark.parametrize("form", messages.FORMS)
def test_no_form_has_control_characters_or_broken_text(form):
    text = json.dumps(bodies()[form], ensure_ascii=False)
    if form != "json":  # whose field `finding` is the journal's
        assert "\x1b" not in text and "\\u001b" not in text and text.encode()


def test_alertmanager_has_the_same_labels_until_the_end():
    (first,), (last,) = bodies(event=1)["alertmanager"], bodies(event=2)["alertmanager"]
    assert (
        first["labels"]
        == last["labels"]
        == {"alertname": "FabricFinding", "system": "sys", "finding": first["labels"]["finding"]}
    )
    assert first["startsAt"] == last["startsAt"] == "2026-01-01T21:00:00+00:00"
    assert first["endsAt"] > last["endsAt"] == "2026-01-02T21:00:00+00:00"


def test_a_clock_that_was_set_back_ends_no_alert_before_it_began():
    later, earlier = entry(5, N3), entry(4)
    ((_, message),) = messages.of_nights("sys", [later, earlier], {earlier.session})
    (alert,) = json.loads(messages.body(message, "alertmanager", "k"))
    assert alert["startsAt"] == alert["endsAt"] == "2026-01-05T21:00:00+00:00"


@pytest.mark.parametrize("form", messages.FORMS)
def test_a_trial_says_that_nothing_is_wrong_in_each_form(form):
    key, message = messages.trial()
    assert "this is a trial; nothing is wrong" in messages.body(message, form, key).decode()
