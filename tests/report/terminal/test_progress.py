# SPDX-License-Identifier: BSD-3-Clause
"""A run while it is under way, by the lines of a real ReFrame."""

import io
from pathlib import Path

import pytest

from fabric_checks.core import console
from fabric_checks.report.terminal import progress

#: What ReFrame 4.10.4 printed, thinned: a build, 36 cases of which one failed, an interrupt.
SAID = (Path(__file__).with_name("reframe-4.10.4.txt")).read_text().splitlines()


def state(lines):
    found = progress.State()
    for line in lines:
        found.read(line)
    return found


def test_before_the_first_case_ends_nobody_knows_how_many_there_are():
    begun = state(SAID[: SAID.index(next(line for line in SAID if "RUN" in line))])
    assert begun.text(2.0) == "choosing cases, 2 s"
    begun.read("[ RUN      ] FabricPrograms ~local:node+mpich /5c7ed743 @local:node+mpich")
    assert begun.text(3.0) == "begun, 3 s, building FabricPrograms"


def test_a_run_is_followed_to_its_end():
    ended = state(SAID)
    assert (ended.ended, ended.cases, ended.failed) == (4, 4, 1)
    assert ended.text(90.0) == "4 of 4 done, 1 failed, 1 min 30 s"


def test_what_runs_is_what_began_first_and_has_not_ended():
    lines = SAID[: next(at for at, line in enumerate(SAID) if "( 2/" in line or "(2/" in line)]
    assert state(lines).running_text() == "OsuLatency 1x2 @local:node+mpich"


@pytest.mark.parametrize(("ended", "left_s"), [(0, None), (9, None), (10, 120.0), (20, 30.0), (30, 0.0)])
def test_the_time_left_is_estimated_from_a_third_of_the_cases_on(ended, left_s):
    assert progress.State(cases=30, ended=ended).remaining_s(60.0) == left_s


def test_builds_and_their_time_do_not_count_in_the_time_left():
    found = progress.State()
    for at_s, line in enumerate(("[ RUN      ] B ~x @s:p+e", "[       OK ] (1/7) B ~x @s:p+e")):
        found.read(line, 100.0 * at_s)
    assert found.remaining_s(150.0) is None
    for number in (2, 3):
        found.read(f"[ RUN      ] C{number} @s:p+e", 200.0 + number)
        found.read(f"[       OK ] ({number}/7) C{number} @s:p+e", 210.0)
    assert found.remaining_s(222.0) == 40.0


def test_passes_are_counted_and_the_time_left_is_of_all():
    found = progress.State(passes=5)
    for line in ["[       OK ] (1/2) A @s:p+e", "[       OK ] (2/2) B @s:p+e"] * 2 + [
        "[       OK ] (1/2) A @s:p+e"
    ]:
        found.read(line)
    assert found.text(60.0) == "pass 3 of 5, 1 of 2 done, 1 min 0 s, about 1 min 0 s left"
    one = progress.State(passes=2)
    for line in ["[       OK ] (1/1) A @s:p+e"] * 2:
        one.read(line)
    assert one.text(1.0) == "pass 2 of 2, 1 of 1 done, 1 s"


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ("-r", 1),
        ("--mode acceptance", 5),
        ("--mode=smoke", 1),
        ("--mode=acceptance --reruns=1", 2),
        ("--reruns 4", 5),
    ],
)
def test_the_passes_are_those_of_the_level_or_of_reruns(options, passes):
    assert progress.passes_of(["reframe", "-c", "checks", *options.split()]) == passes


def test_warnings_of_reframe_are_kept_and_cases_are_not():
    found = state(
        [
            "WARNING: run session stopped: x\x1b[2J",
            "./reframe: error: bad",
            "P: latency_0B: 1.0 us",
            "WARNING: skipping y",
        ]
    )
    assert list(found.messages) == ["WARNING: run session stopped: x?[2J", "./reframe: error: bad"]


def test_plain_lines_are_few(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
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
