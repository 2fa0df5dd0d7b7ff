# SPDX-License-Identifier: BSD-3-Clause
"""The error of all that has to do with Spack."""

from __future__ import annotations

from fabric_checks.core.errors import FabricError


class SpackError(FabricError):
    """Spack, its configuration or what it built is not what was asked for; the text says what and what to do."""
