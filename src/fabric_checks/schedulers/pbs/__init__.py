# SPDX-License-Identifier: BSD-3-Clause
"""PBS: what its tools print, and a scheduler for ReFrame."""
