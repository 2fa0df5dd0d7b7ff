# SPDX-License-Identifier: BSD-3-Clause
"""Add the verb of offers, and the reader of their bundles."""

VERBS = {
    "offers": (
        "Exchange results",
        "fabric_offers.cli",
        "Exchange one file with vendors, check it, rank offers.",
    ),
}

RECORD_SOURCES = ("fabric_offers.bundle_file",)
