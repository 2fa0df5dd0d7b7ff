# SPDX-License-Identifier: BSD-3-Clause
"""The verb that offers add to the command."""

VERBS = {
    "offers": (
        "References and offers",
        "fabric_offers.cli",
        "Exchange one file with vendors, check it, rank offers.",
    ),
}
