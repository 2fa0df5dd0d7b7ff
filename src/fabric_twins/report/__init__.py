# SPDX-License-Identifier: BSD-3-Clause
"""The report's sections about published and simulated platforms."""
