# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that says of any set of machines what was measured, and how each value came to be.

Records become values (:mod:`.values`), values become sections (:mod:`.summary`, :mod:`.families`, :mod:`.rotate`,
:mod:`.sand` and the others that :mod:`.build` names) of tables and drawings (:mod:`.drawing`), and these a page
(:mod:`.page`), which :mod:`.pdf` can print.
"""
