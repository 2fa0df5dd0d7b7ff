# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of series of values: numbers in, numbers out."""
