# SPDX-License-Identifier: BSD-3-Clause
"""References of each metric of a system: their file, line rates, and proposals from history."""
