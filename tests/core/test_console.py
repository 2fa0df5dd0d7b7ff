# SPDX-License-Identifier: BSD-3-Clause
"""What is printed is printable, each line is one, and streams that end or fail do what the caller can rely
on."""

import csv
import io
import json
import sys

import pytest
from rich.table import Table
from rich.text import Text

from fabric_checks.core import console

ODD = "a\x1b[31mb\x07\u202ec\ud800d\x9be\r\nf"


def printed(monkeypatch, step):
    """Return the output of a step on standard output."""
    raw = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", raw)
    with console.opened():
        step()
    raw.flush()
    return raw.buffer.getvalue().decode()


def test_a_line_stays_one(monkeypatch):
    assert (
        printed(monkeypatch, lambda: console.print(ODD, "next"))
        == "a?[31mb??c?d?e f\nnext\n"
    )


def test_the_output_of_libraries_is_printable_too(monkeypatch):
    assert (
        printed(monkeypatch, lambda: print(ODD, end="\t.\n"))
        == "a?[31mb??c?d?e?\nf\t.\n"
    )


def test_a_document_keeps_its_lines_and_tabs(monkeypatch):
    assert (
        printed(monkeypatch, lambda: console.print_document("a\tb\x1b\nc"))
        == "a\tb?\nc\n"
    )


def test_json_keeps_its_data(monkeypatch):
    text = printed(monkeypatch, lambda: console.print_json(json.dumps([ODD, "\x7f"])))
    assert text.rstrip("\n").isprintable() and json.loads(text) == [ODD, "\x7f"]


def test_csv_has_all_and_no_formula(monkeypatch):
    rows = [
        {"a": "=1+1", "b": -1.5, "c": ["x", 1]},
        {"a": 'q"\x1b', "b": None, "c": "@x"},
    ]
    text = printed(monkeypatch, lambda: console.print_csv(rows))
    assert list(csv.reader(text.splitlines())) == [
        ["a", "b", "c"],
        ["'=1+1", "-1.5", '["x", 1]'],
        ['q"?', "", "'@x"],
    ]


def test_tables_and_sentences_are_printable_and_no_markup(monkeypatch):
    table = Table(title=f"[red]{ODD}")
    table.add_column("one\x1b[2J")
    table.add_row(ODD)
    text = printed(
        monkeypatch,
        lambda: console.print_rich(
            [table, Text(f"[bold]{ODD}"), "[link=http://x]y[/]\x1b:smile:"]
        ),
    )
    assert "[red]a?[31m" in text
    assert "\n[bold]a?[31m" in text
    assert "[link=http://x]y[/]?:smile:" in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_sentence_is_one_line(monkeypatch):
    assert (
        printed(monkeypatch, lambda: console.print_rich([Text("one\ntwo")]))
        == "one two\n"
    )


def test_colours_reach_a_terminal(monkeypatch):
    raw = io.StringIO()
    monkeypatch.setattr(raw, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", raw)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console.print_rich([Text("red\x1b[2J", style="red")])
    assert raw.getvalue() == "\x1b[31mred?[2J\x1b[0m\n"


class Failing(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def flush(self):
        raise self.error


def test_a_reader_that_is_gone_is_no_fault(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Failing(BrokenPipeError(32, "Broken pipe")))
    with console.opened():
        console.print("x")
        console.print("y")


FULL_OR_CLOSED = pytest.mark.parametrize(
    "raw",
    [Failing(OSError(28, "No space left on device")), None],
    ids=["full", "closed"],
)


@FULL_OR_CLOSED
def test_standard_output_that_cannot_be_written_is_named(monkeypatch, raw):
    monkeypatch.setattr(sys, "stdout", raw)
    with pytest.raises(OSError) as caught:
        console.print("x")
    assert caught.value.filename == "standard output"


@FULL_OR_CLOSED
def test_standard_error_that_cannot_be_written_hides_no_result(monkeypatch, raw):
    monkeypatch.setattr(sys, "stderr", raw)
    console.error("x")


def test_whoever_drops_a_stream_does_not_wait_for_the_lock_of_the_real_one(monkeypatch):
    raw = io.StringIO()
    flushed = []
    monkeypatch.setattr(raw, "flush", lambda: flushed.append(True))
    stream = console.Stream(raw, "x")
    del stream
    assert not flushed and not raw.closed
