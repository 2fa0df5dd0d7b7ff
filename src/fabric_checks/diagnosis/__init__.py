# SPDX-License-Identifier: BSD-3-Clause
"""Who is slow: what bandwidth and latency of every pair say of nodes, cables and switches."""
