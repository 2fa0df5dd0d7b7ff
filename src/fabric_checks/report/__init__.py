# SPDX-License-Identifier: BSD-3-Clause
"""Reports: one model of values, and renderers for terminals and HTML.

Records become values (:mod:`.collection`, :mod:`.values`), headline rows (:mod:`.headlines`), and problems
and a verdict (:mod:`.findings`), which the screen of a run (:mod:`.terminal`) and the page share. A report
turns them into :mod:`.sections` of :mod:`.blocks`: tables, lists, and figures drawn as SVG
(:mod:`.svg_panels`), each value with its :mod:`.provenance`; :mod:`.page` writes these as one page. None of
them names a check: records have family and headline.
"""
