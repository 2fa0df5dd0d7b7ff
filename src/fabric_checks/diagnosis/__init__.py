# SPDX-License-Identifier: BSD-3-Clause
"""Diagnosis of slow nodes, cables and switches from the bandwidth and latency of every pair."""
