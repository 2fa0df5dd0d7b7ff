# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of the twins."""
