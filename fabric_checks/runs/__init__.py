# SPDX-License-Identifier: BSD-3-Clause
"""What came of a run: its cases and their values, from the records and from ReFrame's run report."""
