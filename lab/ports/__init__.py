# SPDX-License-Identifier: BSD-3-Clause
"""The cost of recording ports."""
