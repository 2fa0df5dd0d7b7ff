# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of other programs: joined over files and repeats, and judged as runs of our own programs are."""
