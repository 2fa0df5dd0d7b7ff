# SPDX-License-Identifier: BSD-3-Clause
"""The record and its writer, sessions, and reading results back wherever they are."""
