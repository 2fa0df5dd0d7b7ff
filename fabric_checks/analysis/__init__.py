# SPDX-License-Identifier: BSD-3-Clause
"""Numbers to values and findings: what a curve, a placement, a pair matrix or a series says. No files, no systems."""
