# SPDX-License-Identifier: BSD-3-Clause
"""What commands print: values, comparisons and profiles as tables, and how a run goes."""
