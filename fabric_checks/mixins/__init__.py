# SPDX-License-Identifier: BSD-3-Clause
"""What the checks share, as ReFrame mixins; the only part of the library that imports ReFrame."""

from fabric_checks.mixins.host_lock import HostLockMixin
from fabric_checks.mixins.layout import LayoutMixin, layouts
from fabric_checks.mixins.pictures import PicturesMixin
from fabric_checks.mixins.placement import PlacementMixin
from fabric_checks.mixins.program import ProgramMixin
from fabric_checks.mixins.references import ReferencesMixin
from fabric_checks.mixins.results import ResultsMixin
from fabric_checks.mixins.startup import without_deprecated_alias

__all__ = [
    "HostLockMixin",
    "LayoutMixin",
    "PicturesMixin",
    "PlacementMixin",
    "ProgramMixin",
    "ReferencesMixin",
    "ResultsMixin",
    "layouts",
    "without_deprecated_alias",
]
