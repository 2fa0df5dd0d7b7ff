# SPDX-License-Identifier: BSD-3-Clause
"""The sections of a report, each from values to blocks of tables, pictures and sentences."""
