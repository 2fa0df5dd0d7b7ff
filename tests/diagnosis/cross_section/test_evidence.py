# SPDX-License-Identifier: BSD-3-Clause
"""A drift common to consecutive measurements is distinguished from chance."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, findings, noise
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run

PAIRS, REPEATS = 16, 6


def samples(drift, spread, seed):
    draw = np.random.default_rng(seed)
    logarithms = (
        np.log(1000) + drift[:, None] + draw.normal(0, spread, (REPEATS, PAIRS))
    )
    return logarithms.T


def test_a_drift_is_seen_and_noise_is_not():
    drift = np.array([0.1, -0.1, 0.1, -0.1, 0.1, -0.1])
    seen = noise._drift(samples(drift, 0.01, 1))
    assert seen == pytest.approx(np.std(drift, ddof=1), rel=0.1)
    still = np.zeros(REPEATS)
    assert [noise._drift(samples(still, 0.01, seed)) for seed in range(9)] == [0.0] * 9


def test_a_node_at_half_its_rate_is_named_though_pairs_slow_each_other(golden):
    """Beside each other the pairs of this cluster waited for cores; those that were measured alone did
    not."""
    report = evaluation.of_run(
        evaluation.read(golden("rotate/mpich-5.0.2.busy.txt"), "round-robin")
    )
    (fault,) = [finding for finding in report.findings if finding.is_fault]
    assert (fault.kind, fault.hosts, fault.data["slow"]) == ("node", ("n1",), 14)
    assert fault.share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "hosts, named",
    [(2, (False, False)), (3, (False, True)), (4, (True, True)), (8, (True, True))],
)
def test_of_few_nodes_nothing_is_claimed(hosts, named):
    """All pairs of two nodes are those of a slow one: a run that cannot see it has a note of that."""
    wiring, known = wired("fat tree 2", hosts, "d-mod-k")
    report = evaluation.of_run(run(Fabric(wiring, known, Noise(0.01), 1)))
    assert not findings.faults(report.findings)
    limits = report.limits
    assert (limits["node"] is not None, limits["pair"] is not None) == named
