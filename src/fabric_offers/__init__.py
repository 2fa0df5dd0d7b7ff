# SPDX-License-Identifier: BSD-3-Clause
"""Requests of a buyer, offers of vendors, their checks, and their ranking."""
