# SPDX-License-Identifier: BSD-3-Clause
"""What Slurm, PBS and Flux print of jobs: how each ended, what became of its nodes, and why it waits."""
