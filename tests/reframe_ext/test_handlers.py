# SPDX-License-Identifier: BSD-3-Clause
"""A log of a session that cannot be written is one line with the cause."""

import logging

from fabric_checks.reframe_ext import handlers


def test_a_log_that_cannot_be_written_is_one_line(capsys):
    log = handlers.SessionLog("/dev/full")
    for number in range(3):
        log.emit(logging.makeLogRecord({"msg": f"line {number}"}))
    log.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "error: /dev/full: No space left on device: the log is incomplete"
    )
    assert "make room" in line


def test_a_log_that_can_be_written_says_nothing(capsys, tmp_path):
    for number in range(2):  # of two processes of a session
        log = handlers.SessionLog(str(tmp_path / "log"))
        log.emit(logging.makeLogRecord({"msg": f"line {number}"}))
        log.close()
    assert (
        tmp_path / "log"
    ).read_text() == "line 0\nline 1\n" and capsys.readouterr().err == ""
