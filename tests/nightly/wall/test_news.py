# SPDX-License-Identifier: BSD-3-Clause
"""The news of a night, as a command of the site gets it."""

import json
from dataclasses import replace

import pytest

from fabric_checks.nightly.wall import news
from tests.nightly.samples import spend


@pytest.fixture
def told(plan, results, monkeypatch, tmp_path):
    """Return a plan with gauges and a command that keeps the news that it gets, and the file of these."""
    heard = tmp_path / "heard"
    return replace(
        plan,
        metrics=tmp_path / "metrics",
        on_finding=f"cat >> {heard}; echo >> {heard}",
    ), heard


def test_a_night_leaves_gauges_and_tells_what_is_new(told, monkeypatch):
    plan, heard = told
    spent = spend(plan, monkeypatch, 1.0)
    assert not spent.night.failures and not spent.due
    news = json.loads(heard.read_text())
    assert news == json.loads((plan.files / "night.json").read_text())
    (new,) = news["new"]
    assert (news["verdict"], new["cases"], new["kind"]) == (
        "findings",
        ["B @sys:part+mpich"],
        "case",
    )
    text = (plan.metrics / "fabric_checks_night_sys.prom").read_text()
    assert 'fabric_checks_night_verdict{system="sys",verdict="findings"} 1.0' in text
    assert f'finding="{new["id"]}"' in text
    # What stays is no news.
    heard.unlink()
    spend(replace(plan, session="20260102T000000Z-aaaa"), monkeypatch, 1.0)
    assert not heard.exists()


@pytest.mark.parametrize(
    "command, why",
    [
        ("echo one; echo two >&2; exit 7", "status 7: two"),
        ("false", "status 1: it"),
        ("exec sleep 60", "did not end within"),
    ],
)
def test_a_command_that_fails_is_a_warning_and_costs_nothing(
    told, monkeypatch, command, why
):
    monkeypatch.setattr(news, "TIMEOUT_S", 0.5)
    plan, _ = told
    spent = spend(replace(plan, on_finding=command), monkeypatch, 1.0)
    (line,) = spent.due
    assert all(
        words in line for words in (command, why, str(plan.files / "night.json"))
    )
    assert not spent.night.failures and why in (plan.files / "summary.md").read_text()
    assert json.loads((plan.files / "night.json").read_text())["warnings"] == [line]
