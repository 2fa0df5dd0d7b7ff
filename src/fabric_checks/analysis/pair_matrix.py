# SPDX-License-Identifier: BSD-3-Clause
"""The matrix of a cross-section run: senders down, receivers across, bandwidth of each pair."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import MOST_OF_ALL_PAIRS
from fabric_checks.parsers.rotate import RotateOutput

#: The most pairs of a matrix, less than a gigabyte: rotate on twenty thousand processes. An output of a few
#: megabytes with one round of more processes could ask for any amount.
MOST_PAIRS = MOST_OF_ALL_PAIRS**2


@dataclass(frozen=True)
class PairMatrix:
    """Bandwidth by sender and receiver.

    :param senders: the ranks of the rows, ascending.
    :param receivers: the ranks of the columns, ascending.
    :param MBps: rows x columns, in MB/s; NaN where a pair was not measured.
    :param hosts: the host names by rank.
    """

    senders: NDArray[np.int64]
    receivers: NDArray[np.int64]
    MBps: NDArray[np.float64]
    hosts: tuple[str, ...]

    @property
    def measured(self) -> NDArray[np.float64]:
        """The bandwidths of all pairs that were measured, row by row."""
        return np.asarray(self.MBps[~np.isnan(self.MBps)])

    def host_labels(self, ranks: NDArray[np.int64]) -> list[str]:
        """Return a name for each rank: its host, with the rank where several ranks share it."""
        return [name_of(self.hosts, int(rank)) for rank in ranks]


def name_of(hosts: tuple[str, ...], rank: int) -> str:
    """Return a name for a rank: its host, with the rank where several ranks share the host."""
    return (
        hosts[rank] if hosts.count(hosts[rank]) == 1 else f"{hosts[rank]} (rank {rank})"
    )


def natural(name: str) -> list[str | int]:
    """Return a key that sorts names by the numbers in them: n2 before n10."""
    return [
        int(part) if at % 2 else part
        for at, part in enumerate(re.split("([0-9]+)", name))
    ]


def of_output(output: RotateOutput) -> PairMatrix:
    """Arrange the scan of a run as a matrix; a pair that was measured several times has its median.

    :raises OutputError: if it has more than :data:`MOST_PAIRS` pairs, measured or not.
    """
    scan = output.scan
    senders, row = np.unique(scan.sender.astype(np.int64), return_inverse=True)
    receivers, column = np.unique(scan.receiver.astype(np.int64), return_inverse=True)
    if len(senders) * len(receivers) > MOST_PAIRS:
        raise OutputError(
            f"{len(senders)} senders and {len(receivers)} receivers make more pairs than the {MOST_PAIRS}"
            " that can be analysed; run it on fewer processes"
        )
    cell = row * len(receivers) + column
    values = np.full(len(senders) * len(receivers), np.nan)
    values[cell] = scan.MBps
    if np.bincount(cell, minlength=1).max() > 1:
        rates = pl.DataFrame({"cell": cell, "rate": scan.MBps})
        table = rates.group_by("cell").median()
        values[table["cell"].to_numpy()] = table["rate"].to_numpy()
    return PairMatrix(
        senders, receivers, values.reshape(len(senders), len(receivers)), output.hosts
    )
