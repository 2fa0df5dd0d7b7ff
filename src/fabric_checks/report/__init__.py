# SPDX-License-Identifier: BSD-3-Clause
"""Reports: one model of values, and renderers for terminals and HTML.

Records become values (:mod:`.collecting`, :mod:`.values`), headline rows (:mod:`.headlines`) and findings
(:mod:`.findings`). The screen of a run and other tables (:mod:`.terminal`) print them. A report turns them
into
:mod:`.sections` of :mod:`.blocks`: tables, lists, and figures drawn as SVG (:mod:`.drawing`), each value with
    its
:mod:`.provenance`; :mod:`.html` writes these as one page. None of them names a check: records have family and
headline.
"""
