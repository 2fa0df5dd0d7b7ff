# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of routing that a fabric may have."""

#: How switches choose among routes: by tables alone, by the load of their ports, by a hash of each flow, or
#: not known.
STATIC, ADAPTIVE, HASHED, UNKNOWN_ROUTING = ROUTINGS = (
    "static",
    "adaptive",
    "hashed",
    "unknown",
)
