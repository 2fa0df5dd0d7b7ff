# SPDX-License-Identifier: BSD-3-Clause
"""Print values, comparisons, changes, nodes and costs, and the progress of a run."""
