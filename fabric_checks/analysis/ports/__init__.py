# SPDX-License-Identifier: BSD-3-Clause
"""What the ports and hosts of a job say: how counters grew, who is unlike the others, what carried the bytes."""
