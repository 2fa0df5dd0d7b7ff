# SPDX-License-Identifier: BSD-3-Clause
"""Figures over time: the series, and their plots for a terminal and as a picture."""
