# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's log handlers ``jsonlines``, whose failure fails a case, ``csv``, which only warns, and ``sessionlog``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from reframe.core.exceptions import LoggingError
from reframe.core.logging import getlogger, register_log_handler

from fabric_checks.core.errors import RecordError
from fabric_checks.core.locks import LockedError
from fabric_checks.records.perflog import JsonLinesHandler, append_csv, records_of
from fabric_checks.reframe_ext.internals import check_of


@register_log_handler("jsonlines")
def create_jsonlines_handler(site_config, config_prefix):
    """Return the handler that writes the perflog: to --perflogdir, as ReFrame's own does, or below the prefix."""
    basedir = site_config.get("logging/handlers_perflog/filelog_basedir", "perflogs")
    return PerflogHandler(Path(site_config.get("systems/0/prefix"), os.path.expandvars(basedir)).absolute())


class PerflogHandler(JsonLinesHandler):
    """The perflog's handler for ReFrame, which ends the session on an error that is not a ``LoggingError``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case; let ReFrame, and the case, know if that fails.

        :raises LoggingError: with the file and the cause. ReFrame only warns of it.
        """
        check = check_of(record)
        try:
            super().emit(record)
        except RecordError as error:
            if hasattr(check, "unwritten"):
                check.unwritten = str(error)
            raise LoggingError(str(error)) from None


@register_log_handler("csv")
def create_csv_handler(site_config, config_prefix):
    """Return the handler that writes CSV files."""
    return CsvHandler(Path(site_config.get(f"{config_prefix}/basedir")))


class CsvHandler(logging.Handler):
    """Append the records of a finished case to ``basedir/SYSTEM/PARTITION/CHECK.csv``."""

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self.basedir = basedir

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case, or warn: an exception would keep ReFrame from its other handlers."""
        attributes = record.__dict__
        if not attributes.get("check_facts"):
            return  # a build

        records = records_of(attributes)
        folder = self.basedir / str(attributes["check_system"]) / str(attributes["check_partition"])
        path = folder / f"{records[0]['check']}.csv"
        try:
            append_csv(path, records)
        except (OSError, LockedError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            getlogger().warning(
                f"{path}: {why or error}: {len(records)} records are not in it; they are in the JSON lines"
            )


@register_log_handler("sessionlog")
def create_session_log(site_config, config_prefix):
    """Return the handler that writes the log of a session, to which several processes may append."""
    return SessionLog(site_config.get(f"{config_prefix}/name"))


class SessionLog(logging.FileHandler):
    """Append to a file. If that fails, as on a full disk, print one line, not a traceback for each line of the log."""

    def __init__(self, name: str) -> None:
        super().__init__(name, mode="a")
        self._is_lost = False

    def handleError(self, record: logging.LogRecord | None) -> None:
        """Print the cause of the first failure."""
        error = sys.exc_info()[1]
        cause = error.strerror if isinstance(error, OSError) else repr(error)
        if not self._is_lost:
            print(
                f"error: {self.baseFilename}: {cause}: the log is incomplete, and what was measured since may be lost; "
                "make room, or name another folder with --prefix FOLDER or FABRIC_RESULTS, and run again",
                file=sys.stderr,
            )
        self._is_lost = True

    def close(self) -> None:
        """Close the file; what it cannot write any more is a failure like others."""
        try:
            super().close()
        except OSError:
            self.handleError(None)
