# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's log handlers ``csv`` and ``http``, which the fragments of ``perflogs-templates`` name.

The JSON lines stay what a case is held to: these two warn of what they could not write, and fail nothing.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger, register_log_handler

from fabric_checks.errors import FabricError
from fabric_checks.results.perflog import records_of
from fabric_checks.results.perflogs.csv_file import append_records
from fabric_checks.results.perflogs.sender import Sender
from fabric_checks.results.perflogs.stores import command_to_send, store_of
from fabric_checks.results.sessions import session_id


@register_log_handler("csv")
def create_csv_handler(site_config, config_prefix):
    """Make the handler that writes CSV files."""
    return CsvHandler(Path(site_config.get(f"{config_prefix}/basedir")))


@register_log_handler("http")
def create_http_handler(site_config, config_prefix):
    """Make the handler that sends records over HTTP; it connects to nothing yet.

    :raises ConfigError: if the address or the file of credentials is wrong.
    """
    name, settings = site_config.get(f"{config_prefix}/store"), dict(site_config.get(f"{config_prefix}/settings"))
    try:
        store = store_of(name, **settings)
    except FabricError as error:
        raise ConfigError(str(error)) from None
    del settings["timeout_s"]
    later = command_to_send(name, session_id(), **settings | {"url": store.connection.url})
    return HttpHandler(Sender(store, later, say))


def say(text: str) -> None:
    """Print a warning, also when ReFrame has closed its log."""
    sys.stdout.flush()
    print(f"warning: {text}", file=sys.stderr, flush=True)


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
            append_records(path, records)
        except OSError as error:
            getlogger().warning(
                f"{path}: {error.strerror or error}: {len(records)} records are not in it; the JSON lines have them"
            )


class HttpHandler(logging.Handler):
    """Hands the records of a finished case to a sender, which sends them in the background."""

    def __init__(self, sender: Sender) -> None:
        super().__init__()
        self.sender = sender

    def emit(self, record: logging.LogRecord) -> None:
        """Hand over the records of one case; never waits for the store."""
        if record.__dict__.get("check_facts"):
            try:
                self.sender.add(records_of(record.__dict__))
            except (FabricError, ValueError) as error:
                getlogger().warning(f"{self.sender.store.name}: {error}")

    def close(self) -> None:
        """Wait for the sender, for as long as its limit; it says what was not sent."""
        self.sender.close()
        super().close()
