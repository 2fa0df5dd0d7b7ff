# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML file that works offline."""
