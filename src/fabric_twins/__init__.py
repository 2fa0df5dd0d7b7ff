# SPDX-License-Identifier: BSD-3-Clause
"""Twins: simulated clusters that stand for published or planned ones, run by SimGrid's SMPI."""
