# SPDX-License-Identifier: BSD-3-Clause
"""The ReFrame mixins that the checks share.

The order of their hooks, and what exists by the end of which phase, is the table in ``checks/base.py``.
"""

from fabric_checks.reframe_ext.mixins.container import ContainerMixin
from fabric_checks.reframe_ext.mixins.launches import LaunchesMixin, PpnRatioMixin
from fabric_checks.reframe_ext.mixins.layout import (
    LayoutMixin,
    layouts,
    layouts_of,
    offered,
    whole_partitions,
)
from fabric_checks.reframe_ext.mixins.placement import PlacementMixin
from fabric_checks.reframe_ext.mixins.ports import PortsMixin
from fabric_checks.reframe_ext.mixins.program import ProgramMixin
from fabric_checks.reframe_ext.mixins.record import RecordMixin
from fabric_checks.reframe_ext.mixins.references import ReferencesMixin
from fabric_checks.reframe_ext.mixins.settings import (
    NO_SIZES,
    SIZES,
    SettingsMixin,
    SizesMixin,
    optional,
)
from fabric_checks.reframe_ext.mixins.topology import TopologyMixin

__all__ = [
    "NO_SIZES",
    "SIZES",
    "ContainerMixin",
    "LaunchesMixin",
    "LayoutMixin",
    "PlacementMixin",
    "PortsMixin",
    "PpnRatioMixin",
    "ProgramMixin",
    "RecordMixin",
    "ReferencesMixin",
    "SettingsMixin",
    "SizesMixin",
    "TopologyMixin",
    "layouts",
    "layouts_of",
    "offered",
    "optional",
    "whole_partitions",
]
