# SPDX-License-Identifier: BSD-3-Clause
"""Results of superbench's ``ib-traffic``: its ``results-summary.jsonl``."""

from __future__ import annotations

import re
from collections import defaultdict

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import LATENCY, UNITS, End, PairTable, Row
from fabric_checks.matrices.shared_readers import json_documents, of_sizes

NAME = "superbench ib-traffic"
NEXT = ""  # its configuration names pairs by their numbers in the hostfile

_METRIC = re.compile(
    r"ib-traffic/(?:[^/]+/)*(?P<test>ib_(?:write|read|send)_(?:bw|lat))_(?P<size>\d{1,12})_(?P<ways>[cg]pu-to-[cg]pu)"
    r"_(?P<round>\d{1,9})_\d{1,9}:(?P<server>[^\W_][A-Za-z0-9.-]*)_(?P<client>[^\W_][A-Za-z0-9.-]*)"
    r"(?::(?P<rank>0|[1-9]\d{0,8})(?::\d{1,9})?)?"
)
SIGNATURE = re.compile('"ib-traffic/')
_CANNOT_TELL = "whether values are of both directions: the results do not say if it ran with --bidirectional"


def parse(text: str) -> list[PairTable]:
    """Read the values of all pairs; -1 in place of a value stands for a run that failed or timed out."""
    found = _values(text)
    has_ranks = any(int(of["rank"] or 0) for of, _ in found)
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    failed, ran = [], set()
    for of, value in found:
        # The rank on the host chooses its adapter. The client sends, but reads with ib_read what the server
        # sends.
        server, client = (
            End(of[name], f"rank {of['rank'] or 0}" * has_ranks) for name in ("server", "client")
        )
        sender, receiver = (server, client) if "read" in of["test"] else (client, server)
        metric, factor = (LATENCY, 1.0) if of["test"].endswith("lat") else UNITS["GB/s"]
        test = f"{of['test']} {of['ways']}", metric, int(of["size"])
        ran.add((*test, int(of["round"]), sender, receiver))
        if value == -1:
            failed.append(f"{sender} to {receiver}")
        else:
            measured[test].append(Row(sender, receiver, value * factor, None, int(of["round"])))
    # A pair that is measured several times in a round is alone there, too.
    alone = len(ran) == len({(*of_test, number) for *of_test, number, _, _ in ran})
    without = (
        f"{quoted(names_text(failed), 200)}: -1 in place of a value, as where perftest failed or timed out"
    )
    return of_sizes(NAME, measured, [_CANNOT_TELL, *([without] if failed else [])], alone=alone)


def _values(text: str) -> list[tuple[re.Match[str], float]]:
    """Return the values of pairs, each with the parts of its key."""
    found = []
    for key, value in (each for document in json_documents(text) for each in document.items()):
        if not re.search(r"ib-traffic|[cg]pu_\d+_\d+:", key) or key.endswith("return_code"):
            continue
        if (of := _METRIC.fullmatch(key)) is None:
            raise OutputError(f"{quoted(key)} does not end in SERVER_CLIENT, names without an underscore")
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            raise OutputError(f"{quoted(key)} has no number: {quoted(repr(value))}")
        found.append((of, value))
    return found
