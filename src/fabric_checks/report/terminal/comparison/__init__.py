# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as a table: on a terminal, as JSON, CSV, Markdown or HTML."""
