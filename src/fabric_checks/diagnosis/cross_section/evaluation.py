# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of one cross-section run: values and findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix, name_of, of_output
from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Finding
from fabric_checks.diagnosis import limits as of_report
from fabric_checks.diagnosis.cross_section import (
    congestion,
    evidence,
    exchanges,
    findings,
    inference,
    leaves,
    map_fit,
    parts,
    shared_cables,
)
from fabric_checks.diagnosis.cross_section.limits import limits
from fabric_checks.diagnosis.cross_section.parts import OF_NODES, MappedEvidence
from fabric_checks.diagnosis.cross_section.words import missed
from fabric_checks.diagnosis.finding import RankFinding, faults, not_measured, note
from fabric_checks.fabric_map.model import FabricMap
from fabric_checks.parsers import rotate

#: The medians by switches: which pairs they are of, and how these are called.
_OF_SWITCHES = {
    "median_within_switches": ("within", "within a switch"),
    "median_between_switches": ("across", "between switches"),
}
#: The values that need what only ``rotate`` knows: the pairs of a round, and its times.
_OF_ROTATE = (
    "aggregate_bandwidth",
    "perceived_aggregate_bandwidth",
    "elapsed_over_transfers",
)


@dataclass(frozen=True)
class Report(of_report.Analysed):
    """One run of ``rotate``, analysed.

    :param output: the output of the program; :param matrix: its scan as a matrix.
    :param link_MBps: the rate of a link in MB/s, given or as the fastest pairs show it.
    :param plateaus: the share of the pairs at link/1, link/2, ...
    :param findings: the slow parts, see :func:`fabric_checks.diagnosis.cross_section.findings.find`.
    :param mapped: the evidence on each pair, on the map of the fabric.
    :param limits: the smallest faults that the run would have named; :param missed: what it did not measure.
    :param ways: the ways of switches to all others, if groups were given.
    """

    output: rotate.RotateOutput
    matrix: PairMatrix
    link_MBps: float
    plateaus: dict[int, float]
    findings: tuple[RankFinding, ...]
    mapped: MappedEvidence
    limits: of_report.Limits
    missed: tuple[str, ...]
    ways: leaves.Ways | None = None

    def metrics(self) -> dict[str, float]:
        """Return the declared values of the check, see :func:`fabric_checks.analysis.bandwidths.values`.

        Further ``full_rate_share``, the share of pairs in percent that have a link for themselves;
        ``faults``, the number of parts that are slow for certain; the elapsed time over that of the
        transfers; the share of all ordered pairs in percent that the scan measured; the number of ranks that
        it had only as senders, only as receivers, or not at all; the smallest losses in percent that would
        have been named, 100 where none would; and
        :attr:`of_switches`, and :func:`fabric_checks.analysis.bandwidths.of_rails` where there are
        several. Those that only ``rotate`` can have are left out for other programs.
        """
        measured, all_pairs = self.output.ordered_pairs
        found = bandwidths.values(self.matrix, self.output.pairs) | {
            "full_rate_share": 100 * self.plateaus.get(1, 0.0),
            "faults": float(len(faults(self.findings))),
            "elapsed_over_transfers": self.output.elapsed_s / self.output.transfers_s,
            "measured_pairs": 100 * measured / all_pairs,
            "one_way_nodes": float(len(self.output.one_way_ranks)),
            # 100 where nothing would have been found.
            **{
                f"smallest_{part}_fault": 100.0 if loss is None else 100 * loss
                for part, loss in self.limits.items()
                if part not in ("leaf", "node both ways")
            },
            **self.of_switches,
            **(
                bandwidths.of_rails(self.matrix, self.output.rails)
                if self.output.rails > 1
                else {}
            ),
        }
        return {
            name: value
            for name, value in found.items()
            if not self.output.is_table or name not in _OF_ROTATE
        }

    @property
    def of_switches(self) -> dict[str, float]:
        """The medians of pairs at one switch and of pairs at two, in MB/s, as far as switches are known."""
        evidence = self.mapped.evidence
        found = {}
        for name, (which, _) in _OF_SWITCHES.items():
            scan = evidence.scan[getattr(self.mapped, which)]
            if len(scan := scan[~np.isnan(scan)]):
                rate = np.exp(np.median(scan)) * evidence.reference_MBps
                found[name] = float(rate)
        return found

    def all_findings(self) -> list[Finding]:
        """Return the findings, and notes of the slowest pair, the plateaus, and what was not measured."""
        return [
            *self.findings,
            self._slowest(),
            self._levels(),
            *self._by_switch(),
            *not_measured(self.missed),
            *([leaves.note(self.ways)] if self.ways is not None else []),
        ]

    def _slowest(self) -> Finding:
        sender, receiver = bandwidths.slowest_pair(self.matrix)
        names = [name_of(self.output.hosts, rank) for rank in (sender, receiver)]
        rate = float(self.matrix.measured.min())
        text = f"the slowest pair is {names[0]} to {names[1]}, {rate:.0f} MB/s"
        hosts = [self.output.hosts[rank] for rank in (sender, receiver)]
        return note("slowest pair", text, hosts=hosts)

    def _levels(self) -> Finding:
        rates = np.sort(self.matrix.measured)[::-1]
        ends = np.cumsum([*self.plateaus.values()]) * len(rates)
        levels = [
            f"{100 * share:.1f} % reach {np.median(part) / self.link_MBps:.2f}"
            for share, part in zip(
                self.plateaus.values(),
                np.split(rates, np.rint(ends[:-1]).astype(int)),
                strict=True,
            )
        ]
        is_given = self.link_MBps != bandwidths.link_rate_MBps(self.matrix)
        source = "" if is_given else ", as the fastest pairs show it"
        text = f"of the pairs, {', '.join(levels)} of a link's rate ({self.link_MBps:.0f} MB/s{source})"
        return note("plateaus", text)

    def _by_switch(self) -> list[Finding]:
        medians = self.of_switches
        listed = [
            f"{value:.0f} MB/s {_OF_SWITCHES[name][1]}"
            for name, value in medians.items()
        ]
        text = f"the median of the scan is {', '.join(listed)} (by {self.mapped.known.source})"
        return [note("by switch", text)] if medians else []


def read(text: str, pattern: str | None = None) -> rotate.RotateOutput:
    """Read the output of ``rotate``; raise :class:`OutputError` if it is not whole, or not of the pattern
    asked for."""
    output = rotate.parse(text)
    if pattern not in (None, output.pattern):
        raise OutputError(
            f"the pattern {pattern} was asked for, but the output is that of {output.pattern}"
        )
    return output


def of_run(
    output: rotate.RotateOutput,
    link_MBps: float | None = None,
    known: FabricMap | None = None,
    cannot_tell: Sequence[str] = (),
) -> Report:
    """Analyse a run.

    :param link_MBps: the rate of a link in MB/s if it is known, see
        :func:`fabric_checks.analysis.bandwidths.plateaus`.
    :param known: the map of the fabric, as far as it is known.
    :param cannot_tell: what the program did not measure, if it is another than ``rotate``.
    """
    matrix = of_output(output)
    link = link_MBps or bandwidths.link_rate_MBps(matrix)
    seen, mapped, found = _diagnosed(output, known)
    found += findings.of_machine(output, mapped, link_MBps, found)
    found = [*congestion.find(mapped), *found]
    ways = leaves.of_output(output, mapped)
    if ways is not None:
        named = [each.part for each in faults(found)]
        found = [*leaves.lost(ways, mapped, named), *found]
    both = exchanges.of_output(seen, mapped)
    found += both.find(found)
    is_confirmed = output.confirmed or output.is_table
    return Report(
        output=output,
        matrix=matrix,
        link_MBps=link,
        plateaus=bandwidths.plateaus(matrix, link),
        findings=tuple(found),
        mapped=mapped,
        limits={**_limits(output, mapped, found, ways), **both.limits},
        missed=(*cannot_tell, *missed(mapped, confirmed=is_confirmed), *both.missed),
        ways=ways,
    )


def _diagnosed(
    output: rotate.RotateOutput, known: FabricMap | None
) -> tuple[rotate.RotateOutput, MappedEvidence, list[RankFinding]]:
    """Return the output as the links of hosts allow, its evidence, on the map if that fits, and the findings.

    Where the map does not fit, nothing is named by it.
    """
    hosts = output.nodes or output.hosts
    seen = parts.beyond_cables(output, known)
    mapped = parts.on_map(evidence.of_output(seen), hosts, known, output.hosts)
    doubt = map_fit.misfit(mapped)
    found = findings.find(seen, mapped) if doubt is None else []
    if doubt is None and not output.is_table:
        found += shared_cables.find(mapped, faults(found), confirmed=output.confirmed)
    doubt = doubt or map_fit.scattered(found, has_routes=mapped.known.has_routes)
    if doubt is not None:
        seen = output
        mapped = parts.on_map(evidence.of_output(output), hosts, None, output.hosts)
        found = [*findings.find(output, mapped), doubt]
    return seen, mapped, found


def _limits(
    output: rotate.RotateOutput,
    mapped: MappedEvidence,
    found: Sequence[RankFinding],
    ways: leaves.Ways | None,
) -> of_report.Limits:
    """Return the smallest faults that would have been found."""
    if output.at_once:
        of_nodes = (
            inference.least_of_nodes(mapped.evidence) if output.confirmed else None
        )
        smallest = {"node": of_nodes, "pair": None, "cable": None}
    else:
        slow = [
            rank
            for each in faults(found)
            if each.kind in OF_NODES
            for rank in each.ranks
        ]
        again = output.phases["together"] if output.confirmed else None
        smallest = limits(mapped, output.suspect_share, again, slow_nodes=slow)
    return smallest if ways is None else smallest | {"leaf": ways.limit}
