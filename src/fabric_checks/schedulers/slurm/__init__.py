# SPDX-License-Identifier: BSD-3-Clause
"""Slurm: its queues, its jobs, and a scheduler for ReFrame."""
