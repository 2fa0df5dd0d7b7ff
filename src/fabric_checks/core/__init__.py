# SPDX-License-Identifier: BSD-3-Clause
"""Leaves that every other room may use: the console, text, files, locks, layouts, levels, metrics, errors."""
