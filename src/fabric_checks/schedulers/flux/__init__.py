# SPDX-License-Identifier: BSD-3-Clause
"""Flux: what its tools print, and a scheduler for ReFrame."""
