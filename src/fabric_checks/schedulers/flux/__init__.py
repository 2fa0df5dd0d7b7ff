# SPDX-License-Identifier: BSD-3-Clause
"""Flux: its queues, its jobs, and a scheduler for ReFrame."""
