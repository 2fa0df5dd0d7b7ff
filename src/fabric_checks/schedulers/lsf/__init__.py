# SPDX-License-Identifier: BSD-3-Clause
"""LSF: what its tools print, and a scheduler for ReFrame."""
