# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's handler for CSV files warns of what it could not write, with the cause, and stops no other handler."""

import logging

import pytest

from fabric_checks.core import locks
from fabric_checks.records import perflog
from fabric_checks.reframe_ext import handlers
from tests.records.test_perflog import attributes


@pytest.fixture
def warnings(monkeypatch):
    texts = []
    logger = logging.getLogger("csv-test")
    monkeypatch.setattr(logger, "warning", texts.append)
    monkeypatch.setattr(handlers, "getlogger", lambda: logger)
    return texts


def test_a_lock_that_is_not_let_go_is_a_warning_with_its_holder(tmp_path, monkeypatch, warnings):
    monkeypatch.setattr(perflog, "WRITER_WAIT_S", 0)
    (tmp_path / "s/p").mkdir(parents=True)
    with locks.exclusive(tmp_path / "s/p" / perflog.LOCK, 0):
        handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    (text,) = warnings
    assert "locked by process" in text and "2 records are not in it; they are in the JSON lines" in text
    handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    assert len((tmp_path / "s/p/A.csv").read_text().splitlines()) == 3


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path, warnings):
    (tmp_path / "s").write_text("")
    handlers.CsvHandler(tmp_path).emit(logging.makeLogRecord(attributes()))
    (text,) = warnings
    assert text.endswith("A.csv: Not a directory: 2 records are not in it; they are in the JSON lines")
