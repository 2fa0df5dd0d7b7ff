# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of pairs as other programs print them: a module for each format, told apart by their content.

``formats`` chooses the reader, ``joining`` makes runs of rotate of tables that belong together, and ``again`` what to
measure next.
"""
