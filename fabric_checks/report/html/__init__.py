# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that says of any set of machines what was measured, and how each figure came to be.

Records become values (:mod:`.values`), values become tables and figures (:mod:`.tables`, :mod:`.figures` and the
modules of the other sections), and these become a page (:mod:`.page`), which :mod:`.pdf` can print.
"""
