# SPDX-License-Identifier: BSD-3-Clause
"""Where metrics changed over time: when, by how much, for certain or not, and what else changed then."""
