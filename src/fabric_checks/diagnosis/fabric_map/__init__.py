# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a fabric: which host is at which switch, the cables, and the ways through them."""
