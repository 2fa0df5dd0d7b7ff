# SPDX-License-Identifier: BSD-3-Clause
"""From a scan to a matrix."""

from dataclasses import replace

import numpy as np

from fabric_checks.analysis.pair_matrix import of_output
from fabric_checks.parsers.rotate import Transfers
from tests.breakages import refused
from tests.diagnosis.cross_section.model import Fabric, run


def test_every_pair_has_its_place():
    output = run(Fabric(16, 0.1, 1))
    found = of_output(output)
    assert list(found.senders) == list(range(8)) and list(found.receivers) == list(
        range(8, 16)
    )
    for sender, receiver, rate in zip(
        output.scan.sender, output.scan.receiver, output.scan.MBps, strict=True
    ):
        assert found.MBps[sender, receiver - 8] == rate
    assert len(found.measured) == 64


def test_pairs_that_were_measured_several_times_have_their_median_and_others_none():
    round_, sender, receiver = (
        np.array(a, dtype=np.int32) for a in ([0, 1, 2, 2], [0, 0, 0, 3], [2, 2, 2, 1])
    )
    scan = Transfers(round_, sender, receiver, np.array([1.0, 5, 2, 7]))
    output = replace(run(Fabric(4, 0.0, 1)), phases={"scan": scan})
    found = of_output(output)
    assert list(found.senders) == [0, 3] and list(found.receivers) == [1, 2]
    assert found.MBps[0, 1] == 2 and found.MBps[1, 0] == 7
    assert np.isnan(found.MBps[0, 0]) and np.isnan(found.MBps[1, 1])


def test_ranks_that_share_a_host_are_told_apart():
    found = of_output(replace(run(Fabric(4, 0.0, 1)), hosts=("a", "b", "c", "c")))
    assert found.host_labels(found.senders) == ["a", "b"]
    assert found.host_labels(found.receivers) == ["c (rank 2)", "c (rank 3)"]


def test_more_pairs_than_fit_are_refused():
    """One round of 200,000 processes is a few megabytes of output, and 74 GiB as a matrix."""
    sender = np.arange(100_000, dtype=np.int32)
    scan = Transfers(0 * sender, sender, sender + 100_000, np.ones(100_000))
    output = replace(
        run(Fabric(4, 0.0, 1)), hosts=("n",) * 200_000, phases={"scan": scan}
    )
    with refused("100000 senders and 100000 receivers make more pairs than"):
        of_output(output)
