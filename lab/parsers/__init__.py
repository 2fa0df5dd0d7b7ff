# SPDX-License-Identifier: BSD-3-Clause
"""Damaged outputs at random, and what must hold of one that a parser accepts."""
