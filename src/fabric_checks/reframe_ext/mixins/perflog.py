# SPDX-License-Identifier: BSD-3-Clause
"""A case whose records cannot be written fails, and the session goes on."""

from __future__ import annotations

import logging

from reframe.core.builtins import run_before
from reframe.core.exceptions import LoggingError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import RecordError
from fabric_checks.records.perflog import JsonLinesHandler
from fabric_checks.reframe_ext.internals import check_of


class PerflogHandler(JsonLinesHandler):
    """The perflog's handler for ReFrame, which ends the session on an error that is not a ``LoggingError``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case; tell ReFrame, and the case, if that fails.

        :raises LoggingError: with the file and the cause. ReFrame only warns of it.
        """
        check = check_of(record)
        try:
            super().emit(record)
        except RecordError as error:
            if isinstance(check, PerflogMixin):
                check.unwritten = str(error)
            raise LoggingError(str(error)) from None


class PerflogMixin(RegressionTestPlugin):
    """Fail a case that passed, if the perflog does not have its records.

    ReFrame writes them when the case has passed already; tidying up comes after that, and it is where a case can still
    fail. ReFrame then logs it once more, as a failure.
    """

    #: Why the records are not in the perflog; empty if they are.
    unwritten = ""

    @run_before("cleanup")
    def require_records(self):
        """Fail before the case's files are removed: they are what its values can still be read from.

        :raises LoggingError: with the file and the cause.
        """
        if self.unwritten:
            why, self.unwritten = self.unwritten, ""
            raise LoggingError(why)
