# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of pairs as other programs print them: one module per format, recognized by content.

``formats`` chooses the reader, ``joining`` makes runs of rotate of tables that belong together, and ``again``
what to measure next.
"""
