# SPDX-License-Identifier: BSD-3-Clause
"""Parsers: the text that a program printed goes in, rows come out, and what is not whole raises OutputError."""
