# SPDX-License-Identifier: BSD-3-Clause
"""Add the verb of offers."""

VERBS = {
    "offers": (
        "References and offers",
        "fabric_offers.cli",
        "Exchange one file with vendors, check it, rank offers.",
    ),
}
