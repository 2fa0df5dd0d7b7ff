# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's log handler ``csv``.

The JSON lines stay what a case is held to: this one warns of what it could not write, and fails nothing.
"""

from __future__ import annotations

import logging
from pathlib import Path

from reframe.core.logging import getlogger, register_log_handler

from fabric_checks.core.locks import LockedError
from fabric_checks.records.perflog import append_csv, records_of


@register_log_handler("csv")
def create_csv_handler(site_config, config_prefix):
    """Make the handler that writes CSV files."""
    return CsvHandler(Path(site_config.get(f"{config_prefix}/basedir")))


class CsvHandler(logging.Handler):
    """Appends the records of a finished case to ``basedir/SYSTEM/PARTITION/CHECK.csv``."""

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
