# SPDX-License-Identifier: BSD-3-Clause
"""What a buyer sends out and what vendors send back, checked; and offers in an order."""
