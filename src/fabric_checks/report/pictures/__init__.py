# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as files: curves, matrices of pairs, profiles, and values over time."""
