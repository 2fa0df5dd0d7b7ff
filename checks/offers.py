# SPDX-License-Identifier: BSD-3-Clause
"""What the environments and partitions of the current system offer, known while the checks are loaded."""

from reframe.core.runtime import runtime


def offered(*features):
    """Tell whether some environment of the current system has all of these features."""
    return any(
        set(features) <= set(environ.features)
        for partition in runtime().system.partitions
        for environ in partition.environs
    )


def devices():
    """Return the kinds of device memory, ``cuda`` and ``rocm``, that some partition of the current system has."""
    kinds = {kind for partition in runtime().system.partitions for kind in partition.features}
    return [kind for kind in ("cuda", "rocm") if kind in kinds]
