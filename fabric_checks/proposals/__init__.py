# SPDX-License-Identifier: BSD-3-Clause
"""From results to references: what history proposes, how it gets into a file, and what is wrong with a file."""
