# SPDX-License-Identifier: BSD-3-Clause
"""A verdict on every node of a machine, within a budget: all at once, and what fails in parts."""
