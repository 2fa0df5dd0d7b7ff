# SPDX-License-Identifier: BSD-3-Clause
"""The verbs that offers add to the command, and the reader of their bundles."""

VERBS = {
    "bundle": ("fabric_offers.cli.bundle", "Exchange one file with a vendor, and check it."),
    "rank": ("fabric_offers.cli.rank", "Rank offers by the buyer's criteria."),
}

RECORD_SOURCES = ("fabric_offers.bundle_file",)
