# SPDX-License-Identifier: BSD-3-Clause
"""Numbers to values: curves, placements, processes a node, series. No files, no systems."""
