# SPDX-License-Identifier: BSD-3-Clause
"""Slurm: what its tools print, and a scheduler for ReFrame."""
