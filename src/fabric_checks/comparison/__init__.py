# SPDX-License-Identifier: BSD-3-Clause
"""Compare sets of results, and find changes over time."""
