# SPDX-License-Identifier: BSD-3-Clause
"""The latency of every pair: groups of near nodes, misplaced nodes, and nodes or paths that are slow."""
