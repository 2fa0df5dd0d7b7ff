# SPDX-License-Identifier: BSD-3-Clause
"""The one screen that a run ends with: as it was printed, and never more than one screen, whatever ran."""

import io
import os
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.text import Text

from fabric_checks.core import console
from fabric_checks.core.metrics import Headline
from fabric_checks.records.runs import Case, Session
from fabric_checks.report import findings, headlines
from fabric_checks.report.terminal import screen
from lab import pack_run
from tests.builders import SESSION as NAME
from tests.builders import bare as record
from tests.report import conftest, recorded, records

TRANSCRIPTS = Path(__file__).resolve().parent / "screens"
PLACES = (
    ("report", f"/home/me/fabric-checks/.fabric/results/reports/{NAME}.html"),
    ("all", f". ci/env.sh; fabric-checks show --session {NAME}"),
    ("log", f"/home/me/fabric-checks/.fabric/results/logs/{NAME}.log"),
)


def printed(
    session, width=100, *, elapsed_s=206.0, messages=(), most=screen.LINES, every=False
):
    """Return the lines of a session's screen, each as a terminal of that width would have it."""
    raw = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    terminal = console.rich_console(console.Stream(raw, "x"))
    terminal.width = width
    for part in screen.render(
        session,
        screen.RunInfo(elapsed_s, PLACES, messages),
        width,
        most=most,
        every=every,
    ):
        terminal.print(part, soft_wrap=isinstance(part, Text))
    raw.flush()
    return [line.rstrip() for line in raw.buffer.getvalue().decode().splitlines()]


def of_records(rows, name=NAME):
    """Return a session of records alone, of which each case is as its records say."""
    by_case = {}
    for row in rows:
        by_case.setdefault(findings.case_name(row), []).append(row)
    cases = []
    for case, group in by_case.items():
        last, metrics = group[-1], frozenset(row["metric"] for row in group)
        phase = "performance" if last["metric"] else "run"
        cases.append(
            Case(case, last["case_result"], phase, last["fail_reason"], False, metrics)
        )
    return Session(name, Path("x"), tuple(cases), tuple(rows))


def eight_nodes():
    """A cluster of eight nodes with three MPIs, on which all was measured, with a slow node."""
    return of_records(
        [
            row
            for environ in ("mpich", "openmpi", "impi")
            for row in records.everything(environ=environ)
        ]
    )


def failures(number):
    """A run with so many cases that failed, of few causes."""
    causes = (
        "node n{} died while the job ran",
        "the table ends after {} B",
        "job timed out ({}.5s > 1.0s)",
    )
    names = [f"Check{at} %layout=1x2 @s:p+e" for at in range(number)]
    cases = [
        Case(name, "fail", "run", causes[at % 3].format(at), False)
        for at, name in enumerate(names)
    ]
    passed = Case("A %layout=1x2 @s:p+e", "pass", None, None, False, frozenset("t"))
    return Session(NAME, Path("x"), (*cases, passed), (record(),))


def nothing():
    return Session(NAME, None)


def killed():
    """What is left of a run whose ReFrame was killed: records."""
    return Session(NAME, None, (), recorded.session_of("one_machine").records[:60])


def one_case():
    rows = [
        row
        for row in recorded.records_of("one_machine")
        if row["check"] == "Notification"
    ][:40]
    test = rows[0]["test"]
    return of_records([row for row in rows if row["test"] == test])


def missed():
    judged = {"no_reference": None, "reference": 1.0, "lower": -0.05, "upper": 0.05}
    judged |= {"result": "fail", "case_result": "fail"}
    slow = [
        {
            "kind": "receiver",
            "severity": "fault",
            "text": "node n12 receives at 0.41 of the median from everybody, alone as well",
        }
    ]
    return of_records(
        [
            record(metric=f"t{at}", value=1.5 + at, findings=slow, **judged)
            for at in range(30)
        ]
    )


@pytest.mark.parametrize("name", recorded.NAMES)
def test_a_recorded_run_is_written_as_it_is_read(name):
    text = (recorded.HERE / f"{name}.json").read_text().rstrip("\n")
    assert pack_run.packed(recorded.session_of(name)) == text


SESSIONS = {
    **{name: lambda name=name: recorded.session_of(name) for name in recorded.NAMES},
    "eight_nodes_made_up": eight_nodes,
    "thirteen_twins": lambda: of_records(conftest.twins()),
    "failures_by_the_hundred": lambda: failures(500),
    "no_case": nothing,
    "killed": killed,
    "one_case": one_case,
    "missed": missed,
}


@pytest.mark.parametrize("name", SESSIONS)
def test_the_screen_is_as_it_was_printed(name):
    """Each file was looked at; FABRIC_TEST_WRITE_GOLDEN=1 writes them anew."""
    path = TRANSCRIPTS / f"{name}.txt"
    lines = printed(SESSIONS[name]())
    if "FABRIC_TEST_WRITE_GOLDEN" in os.environ:
        path.write_text("".join(f"{line}\n" for line in lines))
    assert lines == path.read_text().splitlines()


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("name", SESSIONS)
def test_it_is_one_screen_at_any_width(name, width):
    lines = printed(SESSIONS[name](), width)
    assert len(lines) <= screen.LINES
    assert max(map(len, lines)) <= min(width, screen.WIDTH)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_log_has_all_rows_and_reasons(name):
    session = SESSIONS[name]()
    whole = printed(session, most=10**6)
    assert len(whole) >= len(printed(session))
    assert not [
        line for line in whole if re.match(r" *and \d+ more( lines| finding|$)", line)
    ]


def test_values_without_room_are_counted_and_are_all_in_the_log():
    values = of_records([record(metric=f"m{n}", quantity=f"m{n}") for n in range(80)])
    assert [line for line in printed(values) if re.match("and [0-9]+ more$", line)]
    whole = "\n".join(printed(values, most=10**6))
    assert all(f" m{n} " in whole for n in range(80)) and " more" not in whole


@pytest.mark.parametrize("name", SESSIONS)
def test_every_curve_and_value_of_every_machine_is_there(name):
    session = SESSIONS[name]()
    whole = printed(session, most=10**6, every=True)
    rows = headlines.Values(session.records).series()
    shown = re.sub(r"\s", "", "\n".join(whole))
    for row in rows:
        for cell in row.cells.values():
            assert re.sub(r"\s", "", cell.texts[0]) in shown
    assert "more machines" not in shown


def test_what_else_was_seen_is_there_once():
    found = [{"kind": "sender", "severity": "note", "text": "node n7 is slow\x1b[2J"}]
    session = of_records(
        [
            record(findings=found),
            record(metric="other", findings=found),
            record(test="Other", findings=None),
        ]
    )
    text = "\n".join(printed(session, most=10**6, every=True))
    assert text.count("node n7 is slow") == 1
    assert "What else was seen" in text and "\x1b" not in text
    assert "What else was seen" not in printed(session)


def test_all_lines_of_a_long_reason_are_in_the_log():
    reason = " ".join(f"word{at}" for at in range(200)) + "; do this"
    case = Case("B @s:p+e", "fail", "run", reason, False)
    session = Session(NAME, Path("x"), (case,), (record(),))
    short, whole = (
        " ".join(" ".join(printed(session, most=most)).split())
        for most in (screen.LINES, 10**6)
    )
    assert reason in whole and reason not in short and "; do this" in short


def test_what_a_run_would_have_found_is_one_line_and_no_finding():
    """A healthy machine with adaptive routing, whose detection limit is a property of the run."""
    notes = [
        {
            "kind": kind,
            "severity": "note",
            "text": f"{kind}: nodes of one switch reach 0.97 of their best rate",
        }
        for kind in (
            "by leaf",
            "topology",
            "wire",
            "container",
            "invented by a new check",
        )
    ]
    limits = [{"node": 0.5}, {"node": 0.08, "leaf": None}]
    rows = [
        record(test=f"A{at} %layout=8x1", nodes=8, findings=notes, limits=of)
        for at, of in enumerate(limits)
    ]
    lines = printed(of_records(rows))
    assert (
        lines[0].startswith("Passed: ")
        and "Nothing to look at." in lines
        and "0.97" not in "".join(lines)
    )
    (line,) = [line for line in lines if "would have been found" in line]
    assert "node slower by 8 %" in line and "leaf" not in line


@pytest.mark.parametrize(
    "changes, word",
    [
        ({}, "Passed"),
        (
            {
                "findings": [
                    {
                        "kind": "line rate",
                        "severity": "fault",
                        "text": "all pairs reach 0.40",
                    }
                ]
            },
            "Findings",
        ),
        (
            {
                "findings": [
                    {"kind": "noise", "severity": "suspect", "text": "pairs vary"}
                ]
            },
            "Passed",
        ),
        ({"nodes": 8, "limits": {"node": 0.4}}, "Blind"),
        ({"metric": None, "value": None}, "Failed"),
    ],
    ids=["sound", "all nodes slow", "a suspect", "blind", "no value"],
)
def test_the_first_word_is_the_verdict(changes, word):
    assert printed(of_records([record(**changes)]))[0].startswith(f"{word}: ")


def loaded(number, runnable, load=24.0):
    """Return the records of cases on a host of two cores on which so many processes could run."""
    moments = {f"{name}_{moment}": value
               for name, value in (("load_1min", load), ("runnable_processes", runnable))
               for moment in ("before", "after")}  # fmt: skip
    return [
        record(test=f"A{at} %layout=1x2", host_cores=2, ppn=2, **moments)
        for at in range(number)
    ]


@pytest.mark.parametrize(
    "rows, words",
    [
        (
            loaded(3, 26),
            [
                "Busy: 3 of 3",
                "busy: other programs used these cores in 3 of 3 cases (load 24.0 on 2 cores,",
            ],
        ),
        (loaded(11, 1, 1.5) + loaded(12, 9)[11:], ["Passed: 12 of 12", "on 2 cores"]),
        (loaded(3, 1, 1.96), ["Passed: 3 of 3", "on s:p; load 2.0 on 2 cores"]),
    ],
)
def test_a_busy_machine_is_said_first(rows, words):
    lines = printed(of_records(rows))
    assert all(word in line for word, line in zip(words, lines, strict=False))


def test_each_failed_case_is_named_however_many_causes_there_are():
    reasons = [
        f"/home/{name}/stage/{name}.err: cannot open {name}"
        for name in "abcdefghijklmnopqrst"
    ]
    cases = [
        Case(f"Check{at} %layout=1x2 @s:p+e", "fail", "run", why, False)
        for at, why in enumerate(reasons)
    ]
    unknown = {
        "kind": "own",
        "severity": "suspect",
        "text": "nothing is known about the ports: it did not finish",
    }
    text = "\n".join(
        printed(Session(NAME, Path("x"), tuple(cases), (record(findings=[unknown]),)))
    )
    assert all(f"Check{at} 1x2" in text for at in range(20)) and "more" not in text
    assert text.index("Check19") < text.index("nothing is known")


def test_values_of_one_row_are_of_one_program_in_one_layout():
    """That which most machines have, though another is preferred."""

    def point(check, quantity, environ):
        of = {
            "check": check,
            "quantity": quantity,
            "size_B": 0,
            "environ": environ,
            "nodes": 1,
            "ppn": 2,
        }
        return record(**of, **recorded.declared(check, quantity, {}))

    rows = [
        point("OsuLatency", "latency", "a"),
        *(point("Streaming", "ping_pong_time", name) for name in "ab"),
    ]
    (row,) = headlines.Values([row | {"program": row["check"]} for row in rows]).rows()
    assert (set(row.cells), row.layout, row.program) == (
        {"s:p+a", "s:p+b"},
        "1x2",
        "Streaming",
    )
    assert (row.section, row.title) == ("Within a node", "latency, smallest size")


def test_a_strangers_headline_is_on_the_screen():
    own = asdict(Headline("waves", "waves", "Sea", 35))
    lines = printed(
        of_records([record(metric="waves", quantity="waves", headline=own)])
    )
    assert lines[lines.index("Sea") + 1].split()[:3] == ["waves", "1x2", "x"]


def test_a_suite_with_a_long_name_is_named_whole():
    own = asdict(Headline("waves", "waves", "Sea", 35))
    row = record(metric="waves", quantity="waves", headline=own, program="ocean-waves")
    assert " ocean-waves " in "\n".join(printed(of_records([row])))


@pytest.mark.parametrize(
    "point, texts",
    [("first", ["5"]), ("last", ["9 @1M"]), ("peak", ["4"]), ("ends", ["4", "9"])],
)
def test_cells(point, texts):
    points = {
        size: record(size_B=size, value=value, better="smaller")
        for size, value in ((0, 5), (8, 4), (1 << 20, 9))
    }
    cell = headlines.cell(points, point)
    assert (list(cell.texts), cell.curve) == (texts, (5, 4, 9))


def test_sizes_that_are_not_those_asked_for_are_named():
    points = {size: record(size_B=size, value=size) for size in (4, 4096)}
    assert headlines.cell(points, "ends").texts == ("4 @4", "4096 @4K")


def test_messages_of_reframe_are_shown_and_only_text():
    lines = printed(
        of_records([record()]),
        messages=("\x1b[31mred\x07 [bold]x[/bold]\nerror: a line of its own",),
    )
    (message,) = lines[lines.index("  messages of ReFrame:") + 1 :][:1]
    assert (
        "[bold]x[/bold]" in message
        and message.isprintable()
        and "error:" not in [line[:6] for line in lines]
    )
