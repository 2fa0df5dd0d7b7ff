# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of sets of results: the table, and its forms as JSON, CSV, Markdown and HTML."""
