# SPDX-License-Identifier: BSD-3-Clause
"""Ports and hosts of a job: how counters grew, which are outliers, and which network carried the bytes."""
