# SPDX-License-Identifier: BSD-3-Clause
"""Outputs without pairs say so; and each sample belongs to one format alone."""

import pytest

from fabric_checks.matrices import (
    linktest,
    mpigraph,
    nccl_json,
    nccl_tests,
    perftest,
    superbench,
    without_pairs,
)
from tests.matrices import samples
from tests.matrices.reading import refusal

READERS = (linktest, mpigraph, nccl_json, nccl_tests, perftest, superbench, without_pairs)
SAMPLES = [
    (linktest, samples.linktest()),
    (mpigraph, samples.MPIGRAPH),
    (nccl_json, samples.nccl_json()),
    (nccl_tests, samples.NCCL),
    (perftest, samples.PERFTEST),
    (perftest, samples.PERFTEST_LATENCY),
    (superbench, samples.superbench()),
    (without_pairs, samples.DGNETTEST),
]


@pytest.mark.parametrize(("reader", "text"), SAMPLES)
def test_one_reader_recognizes_a_sample(reader, text):
    assert [each.NAME for each in READERS if each.recognizes(text)] == [reader.NAME]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (samples.DGNETTEST, "(it calls low itself: 'nid000023'), but no pairs"),
        ("PER-PROCESS STRAGGLER ANALYSIS (OOP)\n", "the fastest and slowest process of a collective, but no pairs"),
        ("PER-NODE ANALYSIS (2 nodes, process-max rows, OOP)\n", "give the JSON that it was made from"),
        (" Parallel PingPong for step     1:   avg= 11.0us", "let pingponganalysis -g write gnuplotinput.dat"),
        ("Parallel Results for step 3: min: 11.6 us", "let pingponganalysis -g write gnuplotinput.dat"),
        ("sion\x00\x01", "its SION file is no text"),
        ("The prefix of cmd to run is: ib_write_bw -a\nconfig:\n0,1\n", "give results-summary.jsonl of the same run"),
    ],
)
def test_an_output_without_pairs_is_refused_with_what_to_give(text, cause):
    assert without_pairs.recognizes(text)
    assert cause in refusal(without_pairs, text)
