# SPDX-License-Identifier: BSD-3-Clause
"""Compare sets of results, find changes over time, and summarize nodes."""
