# SPDX-License-Identifier: BSD-3-Clause
"""A night: run a level, hold it against references and history, keep it, and say what is new."""
