# SPDX-License-Identifier: BSD-3-Clause
"""Results with faults: what is good is used, what is not is named."""

import gzip
import os

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import jsonlines
from tests.builders import failed, load, record, text_of, write
from tests.records.bad_lines import LINES


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_named_and_the_others_are_used(name, tmp_path):
    bad, cause = LINES[name]
    path = write(tmp_path / "a.jsonl", [record(0), bad, record(1), failed(2)])
    loaded = load(path)
    assert loaded.frame["value"].to_list() == [1.5, 2.5, None]
    (fault,) = loaded.faults
    assert fault.startswith(f"{path}:2: ") and cause in fault and fault.isprintable()
    assert fault.endswith("; the line is left out: fix or delete it")


def test_a_load_of_one_column_still_checks_the_required_fields(tmp_path):
    bad = [
        LINES[name][0]
        for name in ("NaN", "no time", "an unknown unit", "a session, an object")
    ]
    path = write(tmp_path / "a.jsonl", [record(), *bad])
    assert load(path, ["value"]).faults == load(path).faults


@pytest.mark.parametrize("end", [1, 500, -20, -2])
def test_a_line_that_a_crash_left_unfinished(end, tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0), text_of(record(1))[:end]])
    loaded = load(path)
    assert loaded.frame.height == 1
    assert f"{path}:2: half-written, as after a crash: " in loaded.faults[0]


def test_line_ends_of_editors_do_no_harm(tmp_path):
    """Windows' line ends, empty lines, a last line without its end, and any order."""
    lines = text_of(*map(record, range(3)), failed(9)).splitlines()
    path = write(tmp_path / "a.jsonl", [b"\r\n\r\n".join(sorted(lines, reverse=True))])
    loaded = load(path)
    assert loaded.frame["value"].to_list() == [1.5, 2.5, 3.5, None]
    assert loaded.faults == ()


def test_records_that_were_written_twice(tmp_path):
    first = write(tmp_path / "a.jsonl", [*map(record, (0, 1, 0, 2))])
    second = write(tmp_path / "b.jsonl", [record(2), record(3), text_of(failed(3)) * 2])
    loaded = load(tmp_path)
    assert loaded.frame["value"].to_list() == [1.5, 2.5, 3.5, 4.5, None]
    assert all(
        "already in this file or in another; it is used once" in fault
        for fault in loaded.faults
    )
    places = [":".join(fault.split(":")[:2]) for fault in loaded.faults]
    assert places == [f"{first}:3", f"{second}:1", f"{second}:4"]


@pytest.mark.parametrize(
    "change", [{"jobid": "7"}, {"value": 9.0}, {"metric": "m"}, {"session": "y"}]
)
def test_records_that_differ_in_one_field_are_no_duplicates(change, tmp_path):
    loaded = load(write(tmp_path / "a.jsonl", [record(), record(**change)]))
    assert loaded.frame.height == 2
    assert loaded.faults == ()


GARBAGE = {
    "binary": os.urandom(40).replace(b"\n", b"") + b"\n",
    "text": b"x" * 60 + b"\n",
    "objects": b'{"a": 1}\n',
    "one line": b"y",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_file_of_garbage(kind, tmp_path):
    """A few lines are named, the others counted."""
    path = write(tmp_path / "a.jsonl", [GARBAGE[kind] * 20_000])
    write(tmp_path / "b.jsonl", [record()])
    loaded = load(tmp_path)
    assert loaded.frame.height == 1
    if kind == "one line":
        assert len(loaded.faults) == 1
    else:
        assert [fault.split(": ")[0] for fault in loaded.faults[:5]] == [
            f"{path}:{n}" for n in range(1, 6)
        ]
        assert loaded.faults[5:] == (
            f"{path}: and 19995 more lines that are not sound records",
        )


def test_a_line_without_end(tmp_path, monkeypatch):
    """Longer than anything that is kept in memory; what is before it is used."""
    monkeypatch.setattr(jsonlines, "LONGEST_LINE_B", 2**20)
    path = write(
        tmp_path / "a.jsonl",
        [record(0), b'{"a": "' + b"x" * 3 * 2**20 + b'"}\n', record(1)],
    )
    loaded = load(path)
    assert loaded.frame.height == 1
    assert loaded.faults[0].startswith(
        f"{path}:2: a line of more than 1 MiB, and all that follows it: "
    )


def test_links_to_nothing_and_pipes_are_named(tmp_path):
    write(tmp_path / "a.jsonl", [record()])
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "c.jsonl")
    loaded = load(tmp_path)
    assert loaded.frame.height == 1
    assert loaded.faults == (
        f"{tmp_path}/b.jsonl: No such file or directory; it is left out",
        f"{tmp_path}/c.jsonl: not a regular file; it is left out",
    )


def test_nothing_there(tmp_path):
    with pytest.raises(
        RecordError, match="there is no such file or folder; .* start a run"
    ):
        load(tmp_path / "nowhere")
    with pytest.raises(
        RecordError,
        match=r"no results here: no file \*.jsonl or \*.jsonl.gz in it or below it; start",
    ):
        load(tmp_path)
    write(tmp_path / "a.jsonl", [b""])
    with pytest.raises(
        RecordError, match="no sound record; name other records, or start"
    ):
        load(tmp_path)
    write(tmp_path / "a.jsonl", [b"x\n", b"y\n"])
    with pytest.raises(
        RecordError,
        match=r"no sound record; 2 faults, the first: .*a.jsonl:1: not a JSON object",
    ):
        load(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "garbage behind it", "not packed"])
def test_a_broken_packed_file_is_named_and_the_others_are_used(damage, tmp_path):
    whole = gzip.compress(text_of(*map(record, range(1, 40))))
    content = {
        "cut": whole[: len(whole) // 2],
        "garbage behind it": whole + b"garbage",
        "not packed": text_of(record(1)),
    }
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content[damage])
    write(tmp_path / "b.jsonl", [record(0)])
    loaded = load(tmp_path)
    assert loaded.frame["value"][0] == 1.5
    (fault,) = [line for line in loaded.faults if "jsonl.gz: " in line]
    assert fault.startswith(f"{path}: ") and fault.endswith("is left out")
