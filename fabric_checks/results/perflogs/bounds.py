# SPDX-License-Identifier: BSD-3-Clause
"""The values between which a figure passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bounds(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the least and the greatest value that pass, in the record's unit; None where there is no limit.

    As ``reframe.utility.sanity.reference_bounds``: the record's ``lower`` and ``upper`` are shares of the reference's
    size, and values themselves if the reference is 0.
    """
    reference = record["reference"]
    if reference is None:
        return None, None
    size = abs(reference) or 1.0
    lower, upper = record["lower"], record["upper"]
    return (
        None if lower is None else reference + lower * size,
        None if upper is None else reference + upper * size,
    )
