# SPDX-License-Identifier: BSD-3-Clause
"""Clauses of acceptance contracts with stated risks, and their sequential verdicts."""
