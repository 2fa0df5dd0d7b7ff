# SPDX-License-Identifier: BSD-3-Clause
"""The base of every check that runs something."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture

from fabric_checks.mixins import (
    HostLockMixin,
    LayoutMixin,
    PlacementMixin,
    ReferencesMixin,
    ResultsMixin,
    without_deprecated_alias,
)

from .builds import FabricPrograms


@without_deprecated_alias
class FabricCheck(LayoutMixin, PlacementMixin, ResultsMixin, ReferencesMixin, HostLockMixin, rfm.RunOnlyRegressionTest):
    """One launch of one program in one layout, with declared metrics, verified placement and references."""

    fabric_programs = fixture(FabricPrograms, scope="environment")
    require_reference = True
    sourcesdir = None
    time_limit = "10m"
    maintainers = ["fabric-checks"]

    @property
    def placement_probe(self):
        """The path of the placement probe that was built for this environment."""
        return Path(self.fabric_programs.stagedir) / "placement"
