# SPDX-License-Identifier: BSD-3-Clause
"""All that one cross-section run says: figures and findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabric_checks.analysis.cross_section import figures, findings
from fabric_checks.analysis.cross_section.findings import Finding
from fabric_checks.analysis.cross_section.matrix import PairMatrix, name_of, of_output
from fabric_checks.errors import OutputError
from fabric_checks.parsers import rotate

#: So many nodes are named in words that were not measured; the data have all.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Report:
    """One run of ``rotate``, analysed.

    :param output: what the program printed; :param matrix: its scan as a matrix.
    :param link_MBps: the rate of a link in MB/s, given or as the fastest pairs show it.
    :param plateaus: which share of the pairs runs at link/1, link/2, ...
    :param findings: what is slow, see :func:`fabric_checks.analysis.cross_section.findings.find`.
    """

    output: rotate.RotateOutput
    matrix: PairMatrix
    link_MBps: float
    plateaus: dict[int, float]
    findings: tuple[Finding, ...]

    @property
    def has_faults(self) -> bool:
        """Whether a node or a path is slow for certain."""
        return bool(findings.faults(self.findings))

    def metrics(self) -> dict[str, float]:
        """Return the declared figures of the check, see :func:`fabric_checks.analysis.cross_section.figures.figures`.

        Further ``full_rate_share``, the share of pairs in percent that have a link for themselves; ``faults``, the
        number of nodes and paths that are slow for certain; what the run took over its transfers; the share of all
        ordered pairs in percent that the scan measured; and the number of ranks that it had only as senders, only as
        receivers, or not at all.
        """
        measured, all_pairs = self.output.ordered_pairs
        return figures.figures(self.matrix, self.output.pairs) | {
            "full_rate_share": 100 * self.plateaus.get(1, 0.0),
            "faults": float(len(findings.faults(self.findings))),
            "elapsed_over_transfers": self.output.elapsed_s / self.output.transfers_s,
            "measured_pairs": 100 * measured / all_pairs,
            "one_way_nodes": float(len({*self.output.never_senders, *self.output.never_receivers})),
        }

    def notes(self) -> list[dict[str, Any]]:
        """Return the findings, the slowest pair, the plateaus and what was not measured as plain data.

        Each has a ``text``.
        """
        sender, receiver = figures.slowest_pair(self.matrix)
        names = [name_of(self.output.hosts, rank) for rank in (sender, receiver)]
        rate = figures.figures(self.matrix, self.output.pairs)["slowest_pair_bandwidth"]
        levels = ", ".join(
            f"{100 * share:.1f} % at link/{k}{' or less' if k == figures.MOST_SHARING else ''}"
            for k, share in self.plateaus.items()
        )
        return [
            *(finding.as_dict() for finding in self.findings),
            {
                "kind": "slowest pair",
                "ranks": [sender, receiver],
                "hosts": [self.output.hosts[sender], self.output.hosts[receiver]],
                "MBps": rate,
                "text": f"the slowest pair is {names[0]} to {names[1]}, {rate:.0f} MB/s",
            },
            {
                "kind": "plateaus",
                "link_MBps": self.link_MBps,
                "shares": {str(k): share for k, share in self.plateaus.items()},
                "text": f"of the pairs, with a link of {self.link_MBps:.0f} MB/s, run {levels}",
            },
            self._not_measured(),
        ]

    def _not_measured(self) -> dict[str, Any]:
        """Return what the scan says nothing of."""
        output = self.output
        measured, all_pairs = output.ordered_pairs
        sides = {"sent": output.never_senders, "received": output.never_receivers}
        missing = [f"never {verb}: {_some([name_of(output.hosts, r) for r in of])}" for verb, of in sides.items() if of]
        of_nodes = "; ".join(missing) or "every one sent and received"
        return {
            "kind": "not measured",
            "ordered_pairs": measured,
            "of": all_pairs,
            "never_sent": [output.hosts[rank] for rank in sides["sent"]],
            "never_received": [output.hosts[rank] for rank in sides["received"]],
            "text": f"measured were {measured} of {all_pairs} pairs, each direction counted; {of_nodes}",
        }


def _some(names: list[str]) -> str:
    return (
        ", ".join(names)
        if len(names) <= _MOST_NAMED
        else f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"
    )


def of_text(text: str, pattern: str | None = None, link_MBps: float | None = None) -> Report:
    """Analyse the output of ``rotate``.

    :param pattern: the pattern that was asked for, if one was.
    :param link_MBps: the rate of a link in MB/s if it is known, see
        :func:`fabric_checks.analysis.cross_section.figures.plateaus`.
    :raises OutputError: if the output is not whole, or that of another pattern.
    """
    output = rotate.parse(text)
    if pattern not in (None, output.pattern):
        raise OutputError(f"the pattern {pattern} was asked for, the output is that of {output.pattern}")
    matrix = of_output(output)
    link = link_MBps or figures.link_rate_MBps(matrix)
    plateaus = figures.plateaus(matrix, link)
    return Report(output, matrix, link, plateaus, tuple(findings.find(output, matrix)))
