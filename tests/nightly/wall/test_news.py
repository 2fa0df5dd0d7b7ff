# SPDX-License-Identifier: BSD-3-Clause
"""The news of a night, as a command of the site gets it."""

import json
from dataclasses import replace

import pytest

from fabric_checks.nightly import journal, night
from fabric_checks.nightly.wall import news
from tests.nightly.samples import spend


@pytest.fixture
def told(plan, results, monkeypatch, tmp_path):
    """Return a plan with gauges and a command that keeps the news that it gets, and the file of these."""
    monkeypatch.setattr(night.carriers, "changes", lambda *_: ())
    heard = tmp_path / "heard"
    return replace(plan, metrics=tmp_path / "metrics", on_finding=f"cat >> {heard}; echo >> {heard}"), heard


def test_a_night_leaves_gauges_and_tells_what_is_new(told, monkeypatch):
    plan, heard = told
    spent = spend(plan, monkeypatch, 1.0)
    assert (spent.failures, spent.due) == ((), ())
    news = json.loads(heard.read_text())
    assert news == json.loads((plan.files / "night.json").read_text())
    (new,) = news["new"]
    assert (news["verdict"], new["cases"], new["kind"]) == ("findings", ["B @sys:part+mpich"], "case")
    text = (plan.metrics / "fabric_checks_night_sys.prom").read_text()
    assert 'fabric_checks_night_verdict{system="sys",verdict="findings"} 1.0' in text
    assert f'finding="{new["id"]}"' in text


def test_a_finding_that_stays_is_no_news(told, monkeypatch):
    plan, heard = told
    journal.end(plan.journal, replace(spend(plan, monkeypatch, 1.0), session="20251231T000000Z-aaaa"))
    heard.unlink()
    spend(replace(plan, session="20260102T000000Z-aaaa"), monkeypatch, 1.0)
    assert not heard.exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo one; echo two >&2; exit 7", "status 7: two"),
        ("no-such-command", "status 127: "),
        ("false", "status 1: it"),
    ],
)
def test_a_command_that_fails_is_a_warning_and_costs_nothing(told, monkeypatch, command, why):
    plan, _ = told
    spent = spend(replace(plan, on_finding=command), monkeypatch, 1.0)
    assert spent.due[0] == spent.warnings[0] and command in spent.due[0] and why in spent.due[0]
    assert str(plan.files / "night.json") in spent.due[0]
    assert spent.failures == () and spent.findings and why in (plan.files / "summary.md").read_text()
    assert json.loads((plan.files / "night.json").read_text())["warnings"][0] == spent.due[0]


def test_a_command_that_does_not_end_is_ended(told, monkeypatch):
    monkeypatch.setattr(news, "TIMEOUT_S", 0.2)
    plan, _ = told
    (line,) = spend(replace(plan, on_finding="exec sleep 60"), monkeypatch, 1.0).due
    assert "did not end within" in line
