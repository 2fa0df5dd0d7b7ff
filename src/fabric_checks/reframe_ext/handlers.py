# SPDX-License-Identifier: BSD-3-Clause
"""Register ReFrame's log handlers: ``jsonlines``, whose failure fails a case, and ``sessionlog``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from reframe.core.exceptions import LoggingError
from reframe.core.logging import register_log_handler

from fabric_checks.core.errors import RecordError
from fabric_checks.core.paths import results
from fabric_checks.records.perflog import JsonLinesHandler
from fabric_checks.reframe_ext.internals import check_of


@register_log_handler("jsonlines")
def create_jsonlines_handler(site_config, config_prefix):
    """Return the handler that writes the perflog: to --perflogdir, like ReFrame's own, or below the prefix.

    Without a prefix of the system, for which ReFrame takes the working folder, that is the folder of all
    results.
    """
    basedir = site_config.get("logging/handlers_perflog/filelog_basedir", "perflogs")
    prefix = site_config.get("systems/0/prefix")
    folder = Path(results() if prefix == "." else prefix, os.path.expandvars(basedir))
    return PerflogHandler(folder.absolute())


class PerflogHandler(JsonLinesHandler):
    """The perflog's handler for ReFrame, which ends the session on an error that is not a
    ``LoggingError``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case; report a failure to ReFrame and to the case.

        :raises LoggingError: with the file and the cause. ReFrame only warns of it.
        """
        check = check_of(record)
        if check is not None and check.is_dry_run():
            return  # nothing was measured
        try:
            super().emit(record)
        except RecordError as error:
            if hasattr(check, "unwritten"):
                check.unwritten = str(error)
            raise LoggingError(str(error)) from None


@register_log_handler("sessionlog")
def create_session_log(site_config, config_prefix):
    """Return the handler that writes the log of a session, to which several processes may append."""
    return SessionLog(site_config.get(f"{config_prefix}/name"))


class SessionLog(logging.FileHandler):
    """Append to a file. If that fails, as on a full disk, print one line, not a traceback for each line of
    the log."""

    def __init__(self, name: str) -> None:
        super().__init__(name, mode="a")
        self._is_lost = False

    def handleError(self, record: logging.LogRecord | None) -> None:
        """Print the cause of the first failure."""
        error = sys.exc_info()[1]
        cause = error.strerror if isinstance(error, OSError) else repr(error)
        if not self._is_lost:
            print(
                f"error: {self.baseFilename}: {cause}: the log is incomplete, and what was measured since may"
                " be lost; make room, or name another folder with --prefix FOLDER or FABRIC_RESULTS, and run"
                " again",
                file=sys.stderr,
            )
        self._is_lost = True

    def close(self) -> None:
        """Close the file; what it cannot write any more is a failure like others."""
        try:
            super().close()
        except OSError:
            self.handleError(None)
