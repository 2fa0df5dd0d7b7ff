# SPDX-License-Identifier: BSD-3-Clause
"""Results of superbench's ``ib-traffic``: its ``results-summary.jsonl``."""

from __future__ import annotations

import re

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, End, PairTable, Row, of_rows
from fabric_checks.matrices.reading import json_documents, size_title

NAME = "superbench ib-traffic"
NEXT = ""  # its configuration names pairs by their numbers in the hostfile

_METRIC = re.compile(
    r"ib-traffic/(?:[^/]+/)*(?P<test>ib_(?:write|read|send)_(?:bw|lat))_(?P<size>\d{1,12})_(?P<ways>[cg]pu-to-[cg]pu)"
    r"_(?P<round>\d{1,9})_\d{1,9}:(?P<server>[\w.-]+)_(?P<client>[\w.-]+)(?::(?P<rank>\d{1,9}))?(?::\d{1,9})?"
)


def recognizes(text: str) -> bool:
    """Return whether a text has results of ib-traffic."""
    return '"ib-traffic/' in text


def parse(text: str) -> list[PairTable]:
    """Read the values of all pairs, a table for each test, size and direction.

    :raises OutputError: if a result names no pair or has no number.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for document in json_documents(text):
        for key, value in document.items():
            if not re.search(r"ib-traffic|[cg]pu_\d+_\d+:", key) or key.endswith("return_code"):
                continue
            if not (of := _METRIC.fullmatch(key)) or "_" in of["server"] + of["client"]:
                raise OutputError(f"{quoted(key)} does not end in SERVER_CLIENT, names without an underscore")
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
                raise OutputError(f"{quoted(key)} has no number: {quoted(repr(value))}")
            # The rank on the host chooses its adapter. The client sends, but reads with ib_read what the server sends.
            server, client = (End(of[name], f"rank {of['rank'] or 0}") for name in ("server", "client"))
            ends = (server, client) if "read" in of["test"] else (client, server)
            title = f"{of['test']} {size_title(int(of['size']))} {of['ways']}"
            found.setdefault((of["test"], title), []).append(Row(*ends, float(value), None, int(of["round"])))
    return [_table(*kind, rows) for kind, rows in found.items()] or [of_rows(NAME, BANDWIDTH, (), alone=None)]


def _table(test: str, title: str, found: list[Row]) -> PairTable:
    """Return one table; -1 stands for no value."""
    if {end.device for row in found for end in row[:2]} == {"rank 0"}:
        found = [row._replace(sender=End(row.sender.host), receiver=End(row.receiver.host)) for row in found]
    metric, unit = (LATENCY, 1.0) if test.endswith("lat") else (BANDWIDTH, UNITS["GB/s"][1])
    cannot_tell = ["whether values are of both directions: the results do not say if it ran with --bidirectional"]
    if failed := [f"{row.sender} to {row.receiver}" for row in found if row.value == -1]:
        cannot_tell.append(
            f"{quoted(names_text(failed), 200)}: -1 in place of a value, as where perftest failed or timed out"
        )
    alone = len({row[:2] + row[4:] for row in found}) == len({row.round for row in found})
    rows = [row._replace(value=row.value * unit) for row in found if row.value != -1]
    return of_rows(NAME, metric, rows, alone=alone, cannot_tell=cannot_tell, title=title)
