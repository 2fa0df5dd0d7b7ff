# SPDX-License-Identifier: BSD-3-Clause
"""Apply the references of the system's file: a metric without one needs a reason, one without a metric is an
error."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import run_after, xfail
from reframe.core.exceptions import PerformanceError
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime
from reframe.core.systems import SystemPartition

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext.internals import parameter_values, take_references
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
    """Return the names of all checks below ``checks``, loaded or not: the possible entries of a reference
    file.

    They are read from the sources, because checks that a system cannot run are not loaded: the classes
    decorated by ``check()``, and their variants for device memory and for comparisons of processes per node.
    """
    names = set()
    for path in (ROOT / "checks").rglob("*.py"):
        for options, name in re.findall(
            r"^ *@check\((.*)\)\n *class (\w+)", path.read_text(), re.MULTILINE
        ):
            variants = ("",) if "compare=" in options else ("", ppn_ratio.SUFFIX)
            names |= {
                f"{name}{device}{variant}"
                for device in ("", ON_DEVICE)
                for variant in variants
            }
    return frozenset(names)


@lru_cache(maxsize=16)
def _load_checked(path: Path) -> ReferenceFile:
    from fabric_checks.references import reference_file

    file = reference_file.load(path)
    partitions = runtime().system.partitions
    environs = {each.name for partition in partitions for each in partition.environs}
    for suffix in ("", "-spack"):
        family = {f"{mpi}{suffix}" for mpi in WHEEL_MPIS}
        if environs & family:  # a run has the selected MPIs; the file is for all
            environs |= family
    known = {
        "$partition": [partition.fullname for partition in partitions],
        "$environ": sorted(environs),
        "$system": [runtime().system.name],
        "layout": list(map(str, layouts_of("any"))),
    }
    reference_file.require_known(file, check_names(), known)
    return file


def path_of(system: str, partition: SystemPartition) -> tuple[Path, bool]:
    """Return the references file of a partition, and whether values are only recorded: nobody named it, it is
    missing.

    The partition's extras name a file under ``references``, by its path or relative to the folder of
    references.
    """
    # ReFrame 4.10 has no option for the folder in a settings file: its schema refuses it there.
    folder = os.environ.get("RFM_REFERENCE_PREFIX") or runtime().get_option(
        "general/0/reference_prefix"
    )
    named = Extras.of(partition).references
    name = str(named or system).removesuffix(".yaml")
    path = Path(folder or ROOT / "config" / "references", f"{name}.yaml")
    return path, not named and not path.exists()


class ReferencesMixin(RegressionTestPlugin):
    """Take the references from ``SYSTEM.yaml``, without silent gaps.

    The file is in ``config/references``, or below ReFrame's ``reference_prefix`` if that is set. A partition
    that has a file of its own names it in ``extras['references']``. Without a file values are recorded, and a
    warning says so.

    Needs: ``recorded_metrics()`` and ``profile`` (:class:`ProfileMixin`), ``changed`` and ``changed_text``
    (:class:`SettingsMixin`), ``current_layout`` and ``facts``.
    """

    @run_after("setup")
    def read_references(self):
        """Look up this case in the file, and match the references with the declared metrics."""
        path, is_recorded_only = path_of(
            self.current_system.name, self.current_partition
        )
        metrics = self.recorded_metrics()
        self._reference_error = why = ""
        self._derived, reasons, file = {}, {}, None
        try:
            file = None if is_recorded_only else _load_checked(path)
            if file is None:
                why = f"there is no {path}"
            elif self.profile:
                why = "a profile describes a program and is not judged"
            elif self.changed:
                why = f"references are for the check's own settings, not {self.changed_text}"
            else:
                complete, reasons = self._find_references(file, metrics)
        except ReferenceError as error:
            # The values are still measured and logged, to correct the file with them.
            self._reference_error = str(error)
            why, file = f"the reference file is wrong: {error}", None
        if why:  # references that any value meets
            complete = {metric.name: (0, None, None, metric.unit) for metric in metrics}
            reasons = dict.fromkeys(complete, why)
        for name, reason in reasons.items():
            self.facts.metrics[name].no_reference = reason
        if file is not None:
            self._note_evidence(file, metrics)
        take_references(self, {self.current_partition.fullname: complete})

    def _reference_case(self) -> dict[str, str]:
        return {
            "check": type(self).__name__,
            "partition": self.current_partition.fullname,
            "environ": self.current_environ.name,
            "layout": str(self.current_layout),
        }

    def _find_references(
        self, file: ReferenceFile, metrics: list[Metric]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the reference of each metric as ReFrame takes it, and the reason of each that has none."""
        from fabric_checks.references import line_rate, lookup, reference_file

        name = type(self).__name__
        found = {}
        parameters = {
            key: list(map(str, values))
            for key, values in parameter_values(type(self)).items()
        }
        if name in file.entries:
            reference_file.require_known_keys(file, name, parameters)
            try:
                found = dict(lookup.descend(file.entries[name], self._index_value)[1])
            except AttributeError as error:
                raise ReferenceError(
                    f"{file.path}: {name}: $index names {error.name!r}, which the check does not have"
                ) from None
        case = self._reference_case()
        derived = line_rate.references(
            file.derived, metrics, self.extras, f"{file.path}: {name}: derived", **case
        )
        self._derived = {
            metric: derived[metric].source for metric in derived.keys() - found.keys()
        }
        complete, reasons = reference_file.complete(
            file, found, metrics, derived, **case
        )
        return {metric: _of_reframe(each) for metric, each in complete.items()}, reasons

    def _index_value(self, item: str) -> Any:
        """Return the case's value of an item of ``$index``, by ReFrame's names of them.

        :raises AttributeError: if there is none.
        """
        partition = self.current_partition
        special = {
            "$system": self.current_system.name,
            "$partition": partition.fullname,
            "$environ": self.current_environ.name,
        }
        if item in special:
            return special[item]
        return getattr(self, item)

    def _note_evidence(self, file: ReferenceFile, metrics: list[Metric]) -> None:
        """Record the origin of each metric of a simulation, and the source of each reference."""
        case = self._reference_case()
        for metric in metrics:
            noted = self.facts.metrics[metric.name]
            evidence = file.evidence_of(
                metric=metric.name, held=noted.no_reference is None, **case
            )
            source = None
            if evidence is not None:
                noted.evidence, source = evidence.evidence, evidence.source or None
            noted.reference_source = self._derived.get(metric.name, source)

    @run_after("performance")
    def require_references(self):
        """Fail with the fault of the reference file."""
        if self._reference_error:
            raise PerformanceError(self._reference_error)


def _of_reframe(reference: Any) -> Any:
    """Return a reference of a file as ReFrame takes it: a tuple, or an expected failure around one."""
    if reference[0] == "$xfail":
        return xfail(reference[1], tuple(reference[2]))
    return tuple(reference)
