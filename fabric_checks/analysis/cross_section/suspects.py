# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes and pairs of a scan deserve to be measured again: the rule of ``rotate --confirm``.

The program applies this rule itself, while it has the nodes; here it is once more, in numpy, for scans that were not
confirmed and as the counterpart that the program is tested against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.parsers.rotate import Transfers

#: A sender offers at most so many of its pairs.
OFFERS = 16


@dataclass(frozen=True)
class Suspects:
    """What looks slow in a scan.

    :param overall_MBps: the median over rounds of the rounds' medians.
    :param senders: the median of each suspect sender's pairs, as a share of the overall median.
    :param receivers: the same for receivers.
    :param pairs: positions in the scan, lowest first.
    :param share: the value of each of these pairs over what the shares of its sender and receiver predict.
    """

    overall_MBps: float
    senders: dict[int, float]
    receivers: dict[int, float]
    pairs: NDArray[np.int64]
    share: NDArray[np.float64]


def find(scan: Transfers, ranks: int, suspect_share: float) -> Suspects:
    """Return the suspects of a scan.

    A node is suspect if the median of its pairs is below ``1 - suspect_share`` of the overall median; a pair, if it is
    so much below what is left after its sender's and its receiver's share.

    :param ranks: the number of ranks of the run.
    """
    overall = float(np.nanmedian(_medians(scan.round, scan.MBps, int(scan.round.max()) + 1)))
    # A rank that never sends is no suspect sender; comparing with NaN says so.
    sender = _medians(scan.sender, scan.MBps, ranks) / overall
    receiver = _medians(scan.receiver, scan.MBps, ranks) / overall
    level = 1 - suspect_share
    effect = [np.where(share < level, share, 1.0) for share in (sender, receiver)]
    expected = overall * np.minimum(effect[0][scan.sender], effect[1][scan.receiver])
    share = scan.MBps / expected
    low = np.flatnonzero(share < level)
    low = low[np.lexsort((share[low], scan.sender[low]))]
    place = np.arange(len(low)) - np.searchsorted(scan.sender[low], scan.sender[low])
    offered = low[place < OFFERS]
    offered = offered[np.argsort(share[offered], kind="stable")]
    return Suspects(
        overall,
        {int(rank): float(sender[rank]) for rank in np.flatnonzero(sender < level)},
        {int(rank): float(receiver[rank]) for rank in np.flatnonzero(receiver < level)},
        offered,
        share[offered],
    )


def _medians(key: NDArray[np.int32], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the median of the values of each key from 0 to ``size - 1``; NaN for one that does not occur."""
    table = pl.DataFrame({"key": key, "value": values}).group_by("key").agg(pl.col("value").median())
    out = np.full(size, np.nan)
    out[table["key"].to_numpy()] = table["value"].to_numpy()
    return out
