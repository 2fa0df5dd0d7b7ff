# SPDX-License-Identifier: BSD-3-Clause
"""The record, its writer and readers, series, sessions and runs, and what a run will cost."""
