# SPDX-License-Identifier: BSD-3-Clause
"""What is printed on a terminal."""
