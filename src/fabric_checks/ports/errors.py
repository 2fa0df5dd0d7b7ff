# SPDX-License-Identifier: BSD-3-Clause
"""Errors that ports counted while a case ran, held to rates that are published."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.ports.counter_growth import (
    Nodes,
    PortChange,
    port_changes,
)
from fabric_checks.ports.outliers import finding, grouped, is_chance

#: The largest healthy growth of a counter: events a second, and the same in words. They are NVSentinel's
#: (docs/nic-health-monitor/link-counter-detection.md); that of symbol errors is InfiniBand's own, a bit error
#: rate of 10^-12, as cited there. Those of interfaces are as those of port_rcv_errors and port_xmit_discards;
#: that of carrier changes is our own.
_NONE = (0.0, "a healthy link has none")
_TEN = (10.0, "the limit is 10 a second")
_HUNDRED = (100.0, "the limit is 100 a second")
LIMITS = {
    "symbol_error": (120 / 3600, "the limit is 120 an hour"),
    "link_error_recovery": (5 / 60, "the limit is 5 a minute"),
    "link_downed": _NONE,
    "local_link_integrity_errors": _NONE,
    "excessive_buffer_overrun_errors": _NONE,
    "rnr_nak_retry_err": _NONE,
    "carrier_changes": _NONE,
    "port_rcv_errors": _TEN,
    "roce_slow_restart": _TEN,
    "rx_errs": _TEN,
    "tx_errs": _TEN,
    "rx_crc_errors": _TEN,
    "port_xmit_discards": _HUNDRED,
    "rx_drop": _HUNDRED,
    "tx_drop": _HUNDRED,
}
#: Error counters without a published limit: their names, and by how much one has to exceed those of the other
#: nodes.
ERRORS = re.compile(
    r"err|crc|discard|drop|timeout|nack|nak|replay|uncorrected|retr|out_of_(sequence|buffer)|xmit_wait"
)
TIMES_OTHERS, AT_LEAST, FEWEST_OTHERS = 10, 100, 3


def port_errors(nodes: Nodes) -> list[Finding]:
    """Return a finding for each counter of a port that grew above its limit, or far more than on the other
    nodes."""
    found: list[Finding] = []
    seconds = {node.node: node.seconds for node in nodes}
    changes = list(port_changes(nodes))
    of_name = grouped((name, (host, change)) for host, name, change in changes)
    for host, name, change in changes:
        for counter, growth in errors_of(change).items():
            if counter in LIMITS:
                severity = Severity.FAULT
                why = _above(counter, growth, seconds[host])
            else:
                severity = Severity.SUSPECT
                others = [
                    of.grown.get(counter, 0) for at, of in of_name[name] if at != host
                ]
                why = _outlier(growth, others)
            if why:
                text = f"node {host}: {counter} of {name} grew by {growth}{why}"
                about = f"{name} {counter}"
                found.append(
                    finding(
                        "port",
                        [host],
                        text,
                        about,
                        severity=severity,
                        port=name,
                        counter=counter,
                        growth=growth,
                    )
                )
    return found


def _above(counter: str, growth: int, seconds: float) -> str:
    """Return why a growth is above the limit, in words; nothing if chance explains it."""
    per_s, limit = LIMITS[counter]
    if per_s and is_chance(growth, per_s * seconds):
        return ""
    return f" in {seconds:.1f} s, {growth / seconds:.3g} a second: {limit}"


def _outlier(growth: int, others: Sequence[int]) -> str:
    if growth < AT_LEAST or len(others) < FEWEST_OTHERS:
        return ""
    most = max(others)
    if growth <= TIMES_OTHERS * max(most, 1):
        return ""
    return (
        f"; on the other nodes the median is {median(others):.0f}, the maximum {most}"
    )


def errors_of(change: PortChange) -> dict[str, int]:
    """Return the counters of errors of a port that grew, for a record."""
    return {
        name: growth
        for name, growth in sorted(change.grown.items())
        if growth and (name in LIMITS or ERRORS.search(name))
    }
