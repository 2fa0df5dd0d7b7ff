# SPDX-License-Identifier: BSD-3-Clause
"""Apply the references of the system's file: a metric without one needs a reason, one without a metric is an error."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import PerformanceError
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext.internals import parameter_values, references_of
from fabric_checks.reframe_ext.mixins.layout import layouts_of
from fabric_checks.software.stacks import WHEEL_MPIS

# Reference files are read where a case is set up: a listing needs none.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from fabric_checks.references.reference_file import ReferenceFile

#: The suffix of a check's name for its variant with buffers in device memory.
ON_DEVICE = "OnDevice"


@lru_cache(maxsize=1)
def check_names() -> frozenset[str]:
    """Return the names of all checks below ``checks``, loaded or not: the possible entries of a reference file.

    They are read from the sources, because checks that a system cannot run are not loaded: the classes decorated by
    ``check()``, and their variants for device memory and for comparisons of processes per node.
    """
    names = set()
    for path in (ROOT / "checks").rglob("*.py"):
        for options, name in re.findall(r"^@check\((.*)\)\nclass (\w+)", path.read_text(), re.MULTILINE):
            variants = ("",) if "compare=" in options else ("", ppn_ratio.SUFFIX)
            names |= {f"{name}{device}{variant}" for device in ("", ON_DEVICE) for variant in variants}
    return frozenset(names)


@lru_cache(maxsize=16)
def _load_checked(path: Path) -> ReferenceFile:
    from fabric_checks.references import reference_file

    file = reference_file.load(path)
    partitions = runtime().system.partitions
    environs = dict.fromkeys(environ.name for partition in partitions for environ in partition.environs)
    for suffix in ("", "-spack"):
        family = [f"{mpi}{suffix}" for mpi in WHEEL_MPIS]
        if environs.keys() & set(family):
            environs |= dict.fromkeys(family)  # a run has the selected MPIs; the file is for all
    known = {
        "$partition": [partition.fullname for partition in partitions],
        "$environ": list(environs),
        "$system": [runtime().system.name],
        "layout": list(map(str, layouts_of("any"))),
    }
    reference_file.require_known(file, check_names(), known)
    return file


class ReferencesMixin(RegressionTestPlugin):
    """Take the references from ``SYSTEM.yaml``, without silent gaps.

    The file is in ``config/references``, or below ReFrame's ``reference_prefix`` if that is set. A partition that has a
    file of its own names it in ``extras['references']``.

    Needs: ``recorded_metrics()`` and ``profile`` (:class:`ProfileMixin`), ``current_layout`` and ``facts``.
    """

    #: The file with the system's references.
    #:
    #: :type: :class:`str`
    #: :default: ``SYSTEM.yaml``
    reference_file = variable(str, value="")

    @run_after("setup")
    def read_references(self):
        """Let ReFrame look up this case in the file, and match the references with the declared metrics."""
        # ReFrame 4.10 takes the prefix from RFM_REFERENCE_PREFIX only: its schema refuses it in a settings file.
        prefix = runtime().get_option("general/0/reference_prefix") or ROOT / "config" / "references"
        name = self.current_partition.extras.get("references", self.current_system.name)
        path = Path(prefix) / (self.reference_file or f"{name}.yaml")
        self._reference_error = ""
        self._derived = {}
        metrics = self.recorded_metrics()
        try:
            if self.profile:
                complete = {metric.name: (0, None, None, metric.unit) for metric in metrics}
                reasons = dict.fromkeys(complete, "a profile describes a program and is not judged")
            else:
                complete, reasons = self._find_references(path, metrics)
        except ReferenceError as error:
            # The values are still measured and logged, to correct the file with them.
            self._reference_error = str(error)
            complete = {metric.name: (0, None, None, metric.unit) for metric in metrics}
            reasons = dict.fromkeys(complete, f"the reference file is wrong: {error}")
        for name, reason in reasons.items():
            self.facts.metrics[name].no_reference = reason
        self._note_evidence(path, metrics)
        self.reference = {self.current_partition.fullname: complete}

    def _reference_case(self) -> dict[str, str]:
        return {
            "check": type(self).__name__,
            "partition": self.current_partition.fullname,
            "environ": self.current_environ.name,
            "layout": str(self.current_layout),
        }

    def _find_references(self, path: Path, metrics: list[Metric]) -> tuple[dict[str, Any], dict[str, str]]:
        from fabric_checks.references import line_rate, reference_file

        file = _load_checked(path)
        name = type(self).__name__
        parameters = {key: list(map(str, values)) for key, values in parameter_values(type(self)).items()}
        if name in file.entries:
            for attribute in file.entries[name]["$index"]:
                if not attribute.startswith("$") and not hasattr(self, attribute):
                    raise ReferenceError(f"{path}: {name}: $index names {attribute!r}, which the check does not have")
            reference_file.require_known_keys(file, name, parameters)
        # ReFrame reads the whole file for each case, which is slow.
        found = references_of(self, path) if name in file.entries else {}
        case = self._reference_case()
        derived = line_rate.references(
            file.derived, metrics, self.current_partition.extras, f"{path}: {name}: derived", **case
        )
        self._derived = {metric: each.source for metric, each in derived.items() if metric not in found}
        return reference_file.complete(file, found, metrics, derived, **case)

    def _note_evidence(self, path: Path, metrics: list[Metric]) -> None:
        """Record the origin of each metric of a simulation, and the source of each reference."""
        if self._reference_error:
            return
        case = self._reference_case()
        file = _load_checked(path)
        for metric in metrics:
            noted = self.facts.metrics[metric.name]
            evidence = file.evidence_of(metric=metric.name, held=noted.no_reference is None, **case)
            if evidence is not None:
                noted.evidence, noted.reference_source = evidence.kind, evidence.why or None
            noted.reference_source = self._derived.get(metric.name, noted.reference_source)

    @run_after("performance")
    def require_references(self):
        """Fail with the fault of the reference file."""
        if self._reference_error:
            raise PerformanceError(self._reference_error)
