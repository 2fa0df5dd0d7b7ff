# SPDX-License-Identifier: BSD-3-Clause
"""What each metric of a system is held to: the file, line rates, proposals from history, and the audit of it all."""
