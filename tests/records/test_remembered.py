# SPDX-License-Identifier: BSD-3-Clause
"""Perflogs are read into an archive once, and again whenever that may be needed."""

import json

import pytest

from fabric_checks.records import archiving, jsonlines
from tests.builders import load, record, write


@pytest.fixture
def lines_read(monkeypatch):
    """How many lines were read so far."""
    read = []

    def noted(block, report, about=None, real=jsonlines.records):
        for number, entry in real(block, report, about):
            read.append(number)
            yield number, entry

    monkeypatch.setattr(jsonlines, "records", noted)
    return read


def add(tmp_path, name="perflogs"):
    outcome = archiving.add(tmp_path / name, tmp_path / "archive")
    return outcome.added, outcome.known


def test_a_night_is_added_without_reading_those_before(tmp_path, lines_read):
    path = write(tmp_path / "perflogs/a.jsonl", [record(n) for n in range(20)])
    write(tmp_path / "perflogs/b.jsonl", [record(n, check="B") for n in range(20)])
    assert add(tmp_path) == (40, 0)
    lines_read.clear()
    with path.open("a") as file:
        file.write(json.dumps(record(20)) + "\n" + json.dumps(record(20)) + "\n")
    assert add(tmp_path) == (1, 41) and lines_read == [21, 22]
    assert add(tmp_path) == (0, 42) and lines_read == [21, 22]
    assert load(tmp_path / "archive").frame.height == 41


def test_results_that_share_an_archive_are_each_remembered(tmp_path, lines_read):
    for n, name in enumerate("ab"):
        write(tmp_path / name / "x.jsonl", [record(n)])
        assert add(tmp_path, name) == (1, 0)
    lines_read.clear()
    assert add(tmp_path, "a") == add(tmp_path, "b") == (0, 1) and lines_read == []


def lost(archive, path):
    next(archive.rglob("*.parquet")).unlink()


def older(archive, path):
    write(path.with_name("other.jsonl"), [record(40)])
    next(archive.rglob("*.parquet")).touch()


def edited(archive, path):
    path.write_bytes(path.read_bytes().replace(b"MPICH", b"Open MPI"))


def shorter(archive, path):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def garbled(archive, path):
    (archive / archiving.MARKS).write_text("[" * 10_000)


def of_another_kind(archive, path):
    noted = json.loads((archive / archiving.MARKS).read_text())
    noted["read"] = {name: mark | {"bytes": -1, "lines": "x"} for name, mark in noted["read"].items()}
    (archive / archiving.MARKS).write_text(json.dumps(noted))


@pytest.mark.parametrize("change", [lost, older, edited, shorter, garbled, of_another_kind])
def test_what_may_be_other_than_it_was_is_read_again(change, tmp_path, lines_read):
    path = write(tmp_path / "perflogs/a.jsonl", [record(n) for n in range(5)])
    add(tmp_path)
    lines_read.clear()
    change(tmp_path / "archive", path)
    add(tmp_path)
    assert lines_read[:4] == [1, 2, 3, 4]
    loaded = load(tmp_path / "archive")
    assert {f"{n + 1.5}" for n in range(4)} < {str(value) for value in loaded.frame["value"]} and not loaded.faults


def test_what_could_not_be_used_is_told_each_time_and_used_when_it_is_mended(tmp_path):
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), b"{\n", record(1)])
    said = [archiving.add(path, tmp_path / "archive").faults for _ in range(2)]
    assert said[0] == said[1] and f"{path}:2" in said[0][0]
    write(path, [record(0), record(2), record(1)])
    assert add(tmp_path) == (1, 2)


def test_a_line_without_its_end_is_read_when_it_has_one(tmp_path):
    whole = json.dumps(record(1)).encode()
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), whole[:50]])
    assert "half-written" in archiving.add(path, tmp_path / "archive").faults[0]
    write(path, [record(0), whole])
    assert add(tmp_path) == (1, 1)
    write(path, [record(0), whole + b"\n", record(2)])
    assert add(tmp_path) == (1, 2)


def test_numbers_of_lines_go_on(tmp_path):
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), record(1)])
    add(tmp_path)
    with path.open("a") as file:
        file.write("x\n")
    assert archiving.add(path, tmp_path / "archive").faults[0].startswith(f"{path}:3: ")
