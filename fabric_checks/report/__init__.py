# SPDX-License-Identifier: BSD-3-Clause
"""What people read: on a terminal, as HTML, as pictures."""
