# SPDX-License-Identifier: BSD-3-Clause
"""Maps of a fabric: the switch of each host, the cables, and the routes through them."""
