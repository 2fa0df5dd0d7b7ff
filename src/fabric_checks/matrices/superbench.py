# SPDX-License-Identifier: BSD-3-Clause
"""Results of superbench's ``ib-traffic``: its ``results-summary.jsonl``."""

from __future__ import annotations

import re
from collections import defaultdict

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, End, PairTable, Row
from fabric_checks.matrices.reading import json_documents

NAME = "superbench ib-traffic"
NEXT = ""  # its configuration names pairs by their numbers in the hostfile

_METRIC = re.compile(
    r"ib-traffic/(?:[^/]+/)*(?P<test>ib_(?:write|read|send)_(?:bw|lat))_(?P<size>\d{1,12})_(?P<ways>[cg]pu-to-[cg]pu)"
    r"_(?P<round>\d{1,9})_\d{1,9}:(?P<server>[^\W_][A-Za-z0-9.-]*)_(?P<client>[^\W_][A-Za-z0-9.-]*)"
    r"(?::(?P<rank>\d{1,9}))?(?::\d{1,9})?"
)
_CANNOT_TELL = "whether values are of both directions: the results do not say if it ran with --bidirectional"


def recognizes(text: str) -> bool:
    """Return whether a text has results of ib-traffic."""
    return '"ib-traffic/' in text


def parse(text: str) -> list[PairTable]:
    """Read the values of all pairs, a table for each test, size and direction.

    :raises OutputError: if a result names no pair or has no number.
    """
    found = defaultdict[tuple[str, str, int], list[Row]](list)
    for document in json_documents(text):
        for key, value in document.items():
            if not re.search(r"ib-traffic|[cg]pu_\d+_\d+:", key) or key.endswith("return_code"):
                continue
            if (of := _METRIC.fullmatch(key)) is None:
                raise OutputError(f"{quoted(key)} does not end in SERVER_CLIENT, names without an underscore")
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
                raise OutputError(f"{quoted(key)} has no number: {quoted(repr(value))}")
            # The rank on the host chooses its adapter. The client sends, but reads with ib_read what the server sends.
            server, client = (End(of[name], f"rank {of['rank'] or 0}") for name in ("server", "client"))
            ends = (server, client) if "read" in of["test"] else (client, server)
            row = Row(*ends, float(value), None, int(of["round"]))
            found[of["test"], of["ways"], int(of["size"])].append(row)
    return [_table(*of_test, rows) for of_test, rows in found.items()] or [PairTable(NAME, BANDWIDTH, (), None)]


def _table(test: str, ways: str, size_B: int, found: list[Row]) -> PairTable:
    """Return one table; -1 in place of a value stands for a run that failed or timed out."""
    if {end.device for row in found for end in row[:2]} == {"rank 0"}:
        found = [row._replace(sender=End(row.sender.host), receiver=End(row.receiver.host)) for row in found]
    metric, factor = (LATENCY, 1.0) if test.endswith("lat") else UNITS["GB/s"]
    failed = [f"{row.sender} to {row.receiver}" for row in found if row.value == -1]
    without = [f"{quoted(names_text(failed), 200)}: -1 in place of a value, as where perftest failed or timed out"]
    # A pair that is measured several times in a round is alone there, too.
    alone = len({row[:2] + row[4:] for row in found}) == len({row.round for row in found})
    rows = tuple(row._replace(value=row.value * factor) for row in found if row.value != -1)
    cannot_tell = (_CANNOT_TELL, *(without if failed else ()))
    return PairTable(NAME, metric, rows, alone, cannot_tell=cannot_tell, kind=f"{test} {ways}", size_B=size_B)
