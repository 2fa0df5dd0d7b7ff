# SPDX-License-Identifier: BSD-3-Clause
"""References from the system's file; a metric without one needs a reason, a reference without a metric is an error."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import PerformanceError
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime

from fabric_checks import references
from fabric_checks.errors import ReferenceError
from fabric_checks.session import ROOT


@lru_cache(maxsize=1)
def check_names() -> frozenset[str]:
    """Return the names of all classes below ``checks``, loaded or not: what a reference file may have entries for."""
    return frozenset(
        node.name
        for path in (ROOT / "checks").rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )


@lru_cache(maxsize=16)
def _load_checked(path: Path) -> references.ReferenceFile:
    file = references.load(path)
    partitions = runtime().system.partitions
    references.require_known(
        file,
        check_names(),
        [partition.fullname for partition in partitions],
        list(dict.fromkeys(environ.name for partition in partitions for environ in partition.environs)),
    )
    return file


class ReferencesMixin(RegressionTestPlugin):
    """Take the references from ``SYSTEM.yaml``, without any silent gap.

    The file is in ``config/references``, or below ReFrame's ``reference_prefix`` if that is set.

    Needs: ``metrics()``, ``place`` and ``facts``.
    """

    #: The file with the system's references.
    #:
    #: :type: :class:`str`
    #: :default: ``SYSTEM.yaml``
    reference_file = variable(str, value="")

    @run_after("setup")
    def read_references(self):
        """Let ReFrame look up this case in the file, and match what it finds with the declared metrics."""
        # ReFrame 4.10 takes the prefix from RFM_REFERENCE_PREFIX only: its schema refuses it in a settings file.
        prefix = runtime().get_option("general/0/reference_prefix") or ROOT / "config" / "references"
        path = Path(prefix) / (self.reference_file or f"{self.current_system.name}.yaml")
        self._reference_error = ""
        try:
            file = _load_checked(path)
            self.reference = {"$ref": str(path)}
            try:
                found = self.reference[self] if self.reference.index else self.reference
            except KeyError:
                found = {}
            complete, reasons = references.complete(
                file,
                dict(found),
                self.metrics(),
                check=type(self).__name__,
                partition=self.current_partition.fullname,
                environ=self.current_environ.name,
                layout=str(self.place),
            )
        except ReferenceError as error:
            self._reference_error = str(error)
        else:
            self.facts["no_reference"] = reasons
            self.reference = {self.current_partition.fullname: complete}

    @run_before("performance")
    def require_references(self):
        """Fail with what is wrong about the references; only now, so that the figures are still measured and logged."""
        if self._reference_error:
            raise PerformanceError(self._reference_error)
