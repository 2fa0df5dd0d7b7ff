# SPDX-License-Identifier: BSD-3-Clause
"""The error of twins and their simulations."""

from __future__ import annotations

from fabric_checks.core.errors import FabricError


class TwinError(FabricError):
    """The description of a twin, or its simulation, is wrong; the text names file and key, or cause, and the
    remedy."""
