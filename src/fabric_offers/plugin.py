# SPDX-License-Identifier: BSD-3-Clause
"""The verb that offers add to the command, and the reader of their bundles."""

VERBS = {
    "offers": (
        "References and offers",
        "fabric_offers.cli.offers",
        "Exchange one file with vendors, check it, rank offers.",
    ),
}

RECORD_SOURCES = ("fabric_offers.bundle_file",)
