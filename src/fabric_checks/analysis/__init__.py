# SPDX-License-Identifier: BSD-3-Clause
"""Numbers to values: what a curve, a placement, processes a node or a series says. No files, no systems."""
