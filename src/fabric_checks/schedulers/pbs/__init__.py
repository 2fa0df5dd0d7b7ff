# SPDX-License-Identifier: BSD-3-Clause
"""PBS: its queues, its jobs, and a scheduler for ReFrame."""
