# SPDX-License-Identifier: BSD-3-Clause
"""Register ReFrame's log handler ``jsonlines``, whose failure fails a case."""

from __future__ import annotations

import logging
import os
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

    Without a prefix of the system, for which ReFrame takes the working folder, that is the folder of all results.
    """
    basedir = site_config.get("logging/handlers_perflog/filelog_basedir", "perflogs")
    prefix = site_config.get("systems/0/prefix")
    return PerflogHandler(Path(results() if prefix == "." else prefix, os.path.expandvars(basedir)).absolute())


class PerflogHandler(JsonLinesHandler):
    """The perflog's handler for ReFrame, which ends the session on an error that is not a ``LoggingError``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case; report a failure to ReFrame and to the case.

        :raises LoggingError: with the file and the cause. ReFrame only warns of it.
        """
        check = check_of(record)
        try:
            super().emit(record)
        except RecordError as error:
            if hasattr(check, "unwritten"):
                check.unwritten = str(error)
            raise LoggingError(str(error)) from None
