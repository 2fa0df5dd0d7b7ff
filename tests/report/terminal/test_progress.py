# SPDX-License-Identifier: BSD-3-Clause
"""A run while it is under way, by the lines of a real ReFrame."""

import io
from pathlib import Path

import pytest

from fabric_checks.core import console
from fabric_checks.records import repeats
from fabric_checks.report.terminal import progress

#: What ReFrame 4.10.4 printed, thinned: a build, 36 cases of which one failed, an interrupt.
SAID = (Path(__file__).with_name("reframe-4.10.4.txt")).read_text().splitlines()


def state(lines):
    found = progress.State()
    for line in lines:
        found.read(line)
    return found


@pytest.fixture(autouse=True)
def now(monkeypatch):
    """The clock, in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_before_the_first_case_ends_nobody_knows_how_many_there_are():
    begun = state(SAID[: SAID.index(next(line for line in SAID if "RUN" in line))])
    assert begun.text() == "choosing cases, 0 s"
    begun.read(
        "[ RUN      ] FabricPrograms ~local:node+mpich /5c7ed743 @local:node+mpich"
    )
    assert (
        begun.text() == "begun, 0 s, FabricPrograms ~local:node+mpich @local:node+mpich"
    )


def test_a_run_is_followed_to_its_end(now):
    ended = state(SAID)
    now[0] += 90
    assert ended.text() == "4 of 4 done, 1 failed, 1 min 30 s"


def test_what_runs_is_what_began_first_and_has_not_ended():
    lines = SAID[
        : next(at for at, line in enumerate(SAID) if "( 2/" in line or "(2/" in line)
    ]
    assert state(lines).text().endswith(", OsuLatency 1x2 @local:node+mpich")


def test_a_run_that_measures_misses_again_begins_to_count_anew():
    ended = "[     FAIL ] (1/1) A @s:p+e"
    found = state([ended, repeats.BEGUN, ended, repeats.BEGUN])
    assert (found.again, found.ended) == (2, 0)
    assert found.text().startswith("measuring misses again, 2")


@pytest.mark.parametrize("cases", [1, 2])
def test_passes_are_counted(cases):
    found = state(
        [f"[       OK ] ({n}/{cases}) A @s:p+e" for n in range(1, cases + 1)] * 3
    )
    assert found.text() == f"pass 3, {cases} of {cases} done, 0 s"


def test_warnings_of_reframe_are_kept_and_cases_are_not():
    found = state(
        [
            "WARNING: run session stopped: x\x1b[2J",
            "./reframe: error: bad",
            "P: latency_0B: 1.0 us",
            "WARNING: skipping y",
            "WARNING: test 'FabricPrograms': the following variables were not set: 'largest_B'",
        ]
    )
    assert list(found.messages) == [
        "WARNING: run session stopped: x?[2J",
        "./reframe: error: bad",
    ]


def test_plain_lines_are_few(now, capsys):
    with progress.shown(progress.State()) as follow:
        for number in range(1, 301):
            follow(f"[ RUN      ] Case{number} @s:p+e")
            now[0] += 1
            follow(f"[       OK ] ({number:3}/300) Case{number} @s:p+e")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[0].startswith("==> begun, 0 s, Case1")
    assert lines[1].startswith("==> 60 of 300 done, 1 min 0 s, Case61 @s:p+e")


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "out", lambda: console.Stream(terminal, "x"))
    with progress.shown(progress.State()) as follow:
        for line in SAID:
            follow(line)
    text = terminal.getvalue()
    assert "4 of 4 done, 1 failed" in text
    # All that is left of it is wiped.
    assert text.rstrip().endswith("\x1b[2K")
