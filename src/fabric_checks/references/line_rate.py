# SPDX-License-Identifier: BSD-3-Clause
"""Derive references from the line rate of a partition, for systems without history.

A reference file lists them under ``derived``, each with the check, partition, environment, layout and metric
that it is for (regular expressions; the metric has to be given), the share of the line rate, and at least one
bound:

    derived:
    - {check: OsuBandwidth, metric: bandwidth_4194304B, share_of_line_rate: 0.9, lower: -0.05}

The line rate of a node is ``nics`` (by default 1) times ``link_MBps`` of the partition's extras. Traffic
within a node uses no link, so the rules apply to layouts of two or more nodes only. An entry of the file for
the same metric has precedence over a rule, which is for many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import count_text
from fabric_checks.references.items import Rule

UNIT = "MB/s"

#: A reference as in ReFrame: value, lower share, upper share, unit.
Reference = tuple[float, "float | None", "float | None", str]


@dataclass(frozen=True)
class FromLineRate:
    """Hold a reference and its source, such as ``derived: 0.9 x 1 NIC x 125 MB/s``."""

    reference: Reference
    source: str


def references(
    rules: Iterable[Rule],
    metrics: Iterable[Metric],
    extras: Extras,
    context: str,
    **case: str,
) -> dict[str, FromLineRate]:
    """Return the references that the first matching rules give, by metric.

    :param extras: those of the partition, of which ``link_MBps`` and ``nics`` count.
    :param context: file and case, for messages.
    :param case: values for ``check``, ``partition``, ``environ`` and ``layout``.
    :raises ReferenceError: if a metric that a rule covers is no bandwidth, or the line rate is not known.
    """
    rules = list(rules)
    found = {}
    for metric in metrics if rules else ():
        match = next(
            (each for each in rules if each.covers(metric=metric.name, **case)), None
        )
        if match is None:
            continue
        if metric.unit != UNIT:
            raise ReferenceError(
                f"{context}: {metric.name} is in {metric.unit}, but a share of a line rate is in {UNIT}"
            )
        link_MBps, nics = extras.link_MBps, extras.nics
        if not link_MBps:
            raise ReferenceError(
                f"{context}: {metric.name} is compared with a share of the line rate, but {case['partition']}"
                " has no extras['link_MBps']; add it to the system's file"
            )
        value = float(f"{match.share_of_line_rate * nics * link_MBps:.6g}")
        source = f"derived: {match.share_of_line_rate:g} x {count_text(nics, 'NIC')} x {link_MBps:g} MB/s"
        found[metric.name] = FromLineRate(
            (value, match.lower, match.upper, UNIT), source
        )
    return found
