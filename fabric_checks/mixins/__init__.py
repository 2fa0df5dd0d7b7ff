# SPDX-License-Identifier: BSD-3-Clause
"""What the checks share, as ReFrame mixins; the only part of the library, beside `backends`, that imports ReFrame."""

from fabric_checks.mixins.cost import CostMixin
from fabric_checks.mixins.host_lock import HostLockMixin
from fabric_checks.mixins.job import JobMixin
from fabric_checks.mixins.launches import LaunchesMixin
from fabric_checks.mixins.layout import LayoutMixin, layouts, whole_partitions
from fabric_checks.mixins.perflog import PerflogMixin
from fabric_checks.mixins.pictures import PicturesMixin
from fabric_checks.mixins.placement import PlacementMixin
from fabric_checks.mixins.ppn_ratio import PpnRatioMixin
from fabric_checks.mixins.program import ProgramMixin
from fabric_checks.mixins.references import ReferencesMixin
from fabric_checks.mixins.results import ResultsMixin
from fabric_checks.mixins.startup import without_deprecated_alias

__all__ = [
    "CostMixin",
    "HostLockMixin",
    "JobMixin",
    "LaunchesMixin",
    "LayoutMixin",
    "PerflogMixin",
    "PicturesMixin",
    "PlacementMixin",
    "PpnRatioMixin",
    "ProgramMixin",
    "ReferencesMixin",
    "ResultsMixin",
    "layouts",
    "whole_partitions",
    "without_deprecated_alias",
]
