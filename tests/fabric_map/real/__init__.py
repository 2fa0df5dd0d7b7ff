# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics of known cabling, real OpenSM on them, and the routes of its tables, read without the library."""
