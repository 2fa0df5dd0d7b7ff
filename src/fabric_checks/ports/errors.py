# SPDX-License-Identifier: BSD-3-Clause
"""Errors that ports counted while a case ran, held to rates that are published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.ports.counter_growth import NodeChange, PortChange, port_changes
from fabric_checks.ports.outliers import finding, grouped

NVSENTINEL = "NVSentinel, docs/nic-health-monitor/link-counter-detection.md"


@dataclass(frozen=True)
class Limit:
    """The largest healthy growth of a counter.

    :param per_s: events a second; 0: none at all. :param text: the same in words. :param source: its source.
    """

    per_s: float
    text: str
    source: str = NVSENTINEL


_NONE = Limit(0.0, "a healthy link has none")
_AS_ERRORS = Limit(10.0, "10 a second", f"as port_rcv_errors in {NVSENTINEL}")
_AS_DISCARDS = Limit(100.0, "100 a second", f"as port_xmit_discards in {NVSENTINEL}")
#: By counter. The limit of symbol errors is InfiniBand's own: a bit error rate of 10^-12, as cited there.
LIMITS = {
    "symbol_error": Limit(120 / 3600, "120 an hour"),
    "link_error_recovery": Limit(5 / 60, "5 a minute"),
    "link_downed": _NONE,
    "local_link_integrity_errors": _NONE,
    "excessive_buffer_overrun_errors": _NONE,
    "rnr_nak_retry_err": _NONE,
    "port_rcv_errors": Limit(10.0, "10 a second"),
    "port_xmit_discards": Limit(100.0, "100 a second"),
    "roce_slow_restart": Limit(10.0, "10 a second"),
    "carrier_changes": Limit(0.0, "a link that stays up has none", "our own"),
    "rx_errs": _AS_ERRORS,
    "tx_errs": _AS_ERRORS,
    "rx_crc_errors": _AS_ERRORS,
    "rx_drop": _AS_DISCARDS,
    "tx_drop": _AS_DISCARDS,
}
#: Growth above a limit is reported if chance explains it in no more than this share of counters: a case is
#: short, and one symbol error in ten seconds is not 360 an hour.
CHANCE = 1e-6
#: Error counters without a published limit: their names, and by how much one has to exceed those of the other
#: nodes.
ERRORS = re.compile(
    r"err|crc|discard|drop|timeout|nack|nak|replay|uncorrected|retr|out_of_(sequence|buffer)|xmit_wait"
)
TIMES_OTHERS, AT_LEAST, FEWEST_OTHERS = 10, 100, 3


def port_errors(nodes: Sequence[NodeChange]) -> list[Finding]:
    """Return a finding for each counter of a port that grew above its limit, or far more than on the other
    nodes."""
    found: list[Finding] = []
    seconds = {node.node: node.seconds for node in nodes}
    changes = list(port_changes(nodes))
    of_name = grouped((name, (host, change)) for host, name, change in changes)
    for host, name, change in changes:
        for counter, growth in errors_of(change).items():
            if counter in LIMITS:
                found += _above(host, seconds[host], name, counter, growth)
            elif growth >= AT_LEAST:
                others = [other.grown.get(counter, 0) for at, other in of_name[name] if at != host]
                found += _outlier(others, host, name, counter, growth)
    return found


def _above(host: str, seconds: float, name: str, counter: str, growth: int) -> Iterator[Finding]:
    limit = LIMITS[counter]
    if limit.per_s:
        from scipy.special import pdtrc  # noqa: PLC0415  (slow to import, and needed where a counter grew)

        if pdtrc(growth - 1, limit.per_s * seconds) > CHANCE:
            return
    rate = growth / seconds
    yield finding(
        "port",
        [host],
        f"node {host}: {counter} of {name} grew by {growth} in {seconds:.1f} s, {rate:.3g} a"
        f" second: {'the limit is ' if limit.per_s else ''}{limit.text}",
        f"{name} {counter}",
        port=name,
        counter=counter,
        growth=growth,
        source=limit.source,
    )


def _outlier(others: Sequence[int], host: str, name: str, counter: str, growth: int) -> Iterator[Finding]:
    if len(others) >= FEWEST_OTHERS and growth > TIMES_OTHERS * max(*others, 1):
        yield finding(
            "port",
            [host],
            f"node {host}: {counter} of {name} grew by {growth}; on the other nodes the median is "
            f"{median(others):.0f}, the maximum {max(others)}",
            f"{name} {counter}",
            severity=Severity.SUSPECT,
            port=name,
            counter=counter,
            growth=growth,
        )


def errors_of(change: PortChange) -> dict[str, int]:
    """Return the counters of errors of a port that grew, for a record."""
    return {
        name: growth
        for name, growth in sorted(change.grown.items())
        if growth and (name in LIMITS or ERRORS.search(name))
    }
