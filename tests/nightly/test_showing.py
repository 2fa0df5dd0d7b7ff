# SPDX-License-Identifier: BSD-3-Clause
"""The progress of a night, by the lines of ReFrame's log as they come."""

from fabric_checks.nightly import showing
from fabric_checks.nightly.plan import Plan

SESSION = "20260101T000000Z-aaaa"
LINE = "[2026-01-01T00:00:01.161892] info: reframe: {}\n"
#: What the log has got at each look at the run, of which one line is cut.
LOG = [
    "",
    LINE.format("[ReFrame Setup]") + LINE.format("[ RUN      ] A %layout=1x2 /30ba734e @sys:p+e")[:60],
    LINE.format("[ RUN      ] A %layout=1x2 /30ba734e @sys:p+e")[60:],
    LINE.format("[     FAIL ] ( 1/2) A %layout=1x2 /30ba734e @sys:p+e"),
]


class Run:
    """A run that goes on until all of its log is written."""

    def __init__(self, plan, status):
        self.plan, self.status, self.left = plan, status, list(LOG)

    def wait(self, timeout=None):
        if timeout is not None and self.left:
            if text := self.left.pop(0):
                self.plan.log.parent.mkdir(parents=True, exist_ok=True)
                with self.plan.log.open("a") as log:
                    log.write(text)
            raise showing.subprocess.TimeoutExpired("ci/run", timeout)
        return self.status


def waited(tmp_path, monkeypatch, **changes):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(showing.progress, "EVERY_S", 0)
    plan = Plan("sys", "nightly", SESSION, tmp_path / "results", tmp_path / "archive", **changes)
    with showing.shown(plan) as wait:
        return wait(Run(plan, 3))


def test_whoever_watches_sees_the_progress_and_where_the_log_is(tmp_path, monkeypatch, capsys):
    assert waited(tmp_path, monkeypatch, is_watched=True) == 3
    out, err = capsys.readouterr()
    first, last = err.splitlines()
    log = tmp_path / f"results/nightly/sys/{SESSION}/run.log"
    assert first == f"==> night {SESSION} of sys, level nightly; its output is in {log}"
    assert last == "==> the run has ended; it is judged, archived and reported"
    assert [line.split(", ")[0] for line in out.splitlines()] == ["==> begun"] and "A 1x2 @sys:p+e" in out


def test_nobody_is_shown_anything_unasked(tmp_path, monkeypatch, capsys):
    assert waited(tmp_path, monkeypatch) == 3
    assert capsys.readouterr() == ("", "")
