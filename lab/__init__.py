# SPDX-License-Identifier: BSD-3-Clause
"""Experiments that make published tables; README.md says for each which table it makes, and how."""
