# SPDX-License-Identifier: BSD-3-Clause
"""LSF: a scheduler for ReFrame."""
