# SPDX-License-Identifier: BSD-3-Clause
"""What the checks share, as ReFrame mixins.

In which order their hooks run, and what exists by the end of which phase, is the table in ``checks/base.py``.
"""

from fabric_checks.reframe_ext.mixins.cost import CostMixin
from fabric_checks.reframe_ext.mixins.host_lock import HostLockMixin
from fabric_checks.reframe_ext.mixins.job import JobMixin
from fabric_checks.reframe_ext.mixins.launches import LauncherlessMixin, LaunchesMixin
from fabric_checks.reframe_ext.mixins.layout import LayoutMixin, layouts, layouts_of, whole_partitions
from fabric_checks.reframe_ext.mixins.packages import PackagesMixin
from fabric_checks.reframe_ext.mixins.perflog import PerflogMixin
from fabric_checks.reframe_ext.mixins.placement import PlacementMixin
from fabric_checks.reframe_ext.mixins.ports import PortsMixin
from fabric_checks.reframe_ext.mixins.ppn_ratio import PpnRatioMixin
from fabric_checks.reframe_ext.mixins.program import ProgramMixin
from fabric_checks.reframe_ext.mixins.references import ReferencesMixin
from fabric_checks.reframe_ext.mixins.results import ResultsMixin
from fabric_checks.reframe_ext.mixins.topology import TopologyMixin

__all__ = [
    "CostMixin",
    "HostLockMixin",
    "JobMixin",
    "LauncherlessMixin",
    "LaunchesMixin",
    "LayoutMixin",
    "PackagesMixin",
    "PerflogMixin",
    "PlacementMixin",
    "PortsMixin",
    "PpnRatioMixin",
    "ProgramMixin",
    "ReferencesMixin",
    "ResultsMixin",
    "TopologyMixin",
    "layouts",
    "layouts_of",
    "whole_partitions",
]
