# SPDX-License-Identifier: BSD-3-Clause
"""Measure the cost of the profiling library: `python -m lab.profile_cost`."""
