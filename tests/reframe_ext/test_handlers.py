# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's handlers: what could not be written is a line with the cause, and stops no other handler."""

import logging

import pytest

from fabric_checks.core import locks
from fabric_checks.records import perflog
from fabric_checks.reframe_ext import handlers
from tests.records.test_perflog import attributes


@pytest.fixture
def warnings(monkeypatch):
    said = []
    logger = logging.getLogger("csv-test")
    monkeypatch.setattr(logger, "warning", said.append)
    monkeypatch.setattr(handlers, "getlogger", lambda: logger)
    return said


def test_a_lock_that_is_not_let_go_is_a_warning_with_its_holder(tmp_path, monkeypatch, warnings):
    monkeypatch.setattr(perflog, "WRITER_WAIT_S", 0)
    (tmp_path / "s/p").mkdir(parents=True)
    with locks.exclusive(tmp_path / "s/p" / perflog.LOCK, 0):
        handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    (said,) = warnings
    assert "locked by process" in said and "2 records are not in it; they are in the JSON lines" in said
    handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    assert len((tmp_path / "s/p/A.csv").read_text().splitlines()) == 3


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path, warnings):
    (tmp_path / "s").write_text("")
    handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    (said,) = warnings
    assert said.endswith("A.csv: Not a directory: 2 records are not in it; they are in the JSON lines")


def test_a_log_that_cannot_be_written_is_one_line(capsys):
    log = handlers.SessionLog("/dev/full")
    for number in range(3):
        log.emit(logging.makeLogRecord({"msg": f"line {number}"}))
    log.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: /dev/full: No space left on device: the log is incomplete") and "make room" in line


def test_a_log_that_can_be_written_says_nothing(capsys, tmp_path):
    for number in range(2):  # of two processes of a session
        log = handlers.SessionLog(str(tmp_path / "log"))
        log.emit(logging.makeLogRecord({"msg": f"line {number}"}))
        log.close()
    assert (tmp_path / "log").read_text() == "line 0\nline 1\n" and capsys.readouterr().err == ""
