# SPDX-License-Identifier: BSD-3-Clause
"""Where results are written beside the JSON lines: CSV, and stores that take them over HTTP."""
