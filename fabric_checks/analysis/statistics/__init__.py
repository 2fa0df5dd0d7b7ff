# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of series of figures: numbers in, numbers out."""
