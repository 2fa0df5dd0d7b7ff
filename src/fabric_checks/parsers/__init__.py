# SPDX-License-Identifier: BSD-3-Clause
"""Parsers: text that a program printed goes in, rows come out, and incomplete text raises OutputError."""
