# SPDX-License-Identifier: BSD-3-Clause
"""Gauges of nights and vets for a wall, and messages on findings that are new, changed or closed."""
