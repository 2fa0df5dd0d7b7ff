# SPDX-License-Identifier: BSD-3-Clause
"""LSF: its queues, and a scheduler for ReFrame."""
