# SPDX-License-Identifier: BSD-3-Clause
"""Sets of results side by side: what is better, what is worse, what cannot be compared, and why."""
