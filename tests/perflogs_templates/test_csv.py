# SPDX-License-Identifier: BSD-3-Clause
"""CSV files: whole lines, one header, and nothing that a spreadsheet would run."""

import csv
import json
import multiprocessing
import os
import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks.records.perflog import append_csv, csv_cell
from fabric_checks.records.record import FIELDS
from fabric_checks.records.table import NESTED
from tests.perflogs_templates.examples import failed_case, record

HEADER = ",".join(FIELDS) + "\n"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_every_field_of_every_record_can_be_read_back(tmp_path):
    path = tmp_path / "s/p/A.csv"
    first, second = record(), failed_case()
    append_csv(path, [first])
    append_csv(path, [second])
    assert path.read_text().count(HEADER) == 1
    got = rows(path)
    assert len(got) == 2
    for row, wanted in zip(got, (first, second), strict=True):
        for field, value in wanted.items():
            if field in NESTED:
                assert (json.loads(row[field]) if row[field] else None) == value, field
            elif isinstance(value, float):
                assert float(row[field]) == value, field
            else:
                assert row[field] == ("" if value is None else str(value).replace("\n", " ")), field


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r\n=1", '=cmd|"/c calc"!A0'])
def test_no_text_is_a_formula(text):
    assert csv_cell(text)[0] in "'?"  # made text; a control character was in front
    assert csv_cell(-1.5) == -1.5  # a number stays one


@given(st.text())
def test_a_cell_is_one_line_of_printable_text(text):
    made = csv_cell(text)
    assert made.isprintable() and not made.lstrip().startswith(("=", "+", "-", "@"))


def _write_many(path, writer):
    for number in range(20):
        append_csv(path, [record(session=f"{writer}", tasks=number, fail_reason="x" * 5000)] * 2)


def test_sixteen_writers_at_once_lose_and_mix_nothing(tmp_path):
    path = tmp_path / "A.csv"
    writers = [multiprocessing.Process(target=_write_many, args=(path, writer)) for writer in range(16)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text().count(HEADER) == 1
    got = rows(path)
    assert len(got) == 16 * 20 * 2
    for writer in range(16):
        mine = [int(row["tasks"]) for row in got if row["session"] == str(writer)]
        assert mine == [number for number in range(20) for _ in range(2)]


@pytest.mark.parametrize("torn", [HEADER[:30], HEADER + '1,x,"unfin'])
def test_what_a_crash_left_unfinished_is_removed(tmp_path, torn):
    path = tmp_path / "A.csv"
    path.write_text(torn)
    append_csv(path, [record()])
    (row,) = rows(path)
    assert row["system"] == "s"


def test_a_file_with_other_columns_is_moved_away(tmp_path):
    path = tmp_path / "A.csv"
    for content in ("old\n1\n", "older\n1\n"):
        path.write_text(content)
        append_csv(path, [record()])
    assert (tmp_path / "A.1.csv").read_text() == "old\n1\n"
    assert (tmp_path / "A.2.csv").read_text() == "older\n1\n"
    assert len(rows(path)) == 1


def test_a_full_disk_leaves_whole_lines(tmp_path):
    path = tmp_path / "A.csv"
    append_csv(path, [record()])
    before = path.read_bytes()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, len(before) + 10))
        try:
            append_csv(path, [record()])
        except OSError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert path.read_bytes() == before
