# SPDX-License-Identifier: BSD-3-Clause
"""JSON of nccl-tests, with and without the times of iterations."""

import json

import pytest

from fabric_checks.matrices import nccl_json
from tests.matrices import samples
from tests.matrices.reading import cells, refusal


def test_iterations_that_count_are_repeats():
    (table,) = nccl_json.parse(samples.nccl_json())
    pair = ("node1 gpu 0", "node2 gpu 0")
    assert cells(table) == {(*pair, 0): pytest.approx(43781.52, rel=1e-6), (*pair, 1): pytest.approx(43736.8, rel=1e-5)}
    assert (table.title, table.metric, table.both_ways) == ("SendRecv 4 GiB", "bandwidth", True)


def test_without_iterations_a_run_has_one_value():
    document = json.loads(samples.nccl_json())
    del document["results"][0]["out_of_place_per_iter"], document["config"]["per_iter_timing"]
    (table,) = nccl_json.parse(json.dumps(document))
    assert list(table.value) == [43778.0]


def test_processes_with_several_gpus_list_the_first():
    text = samples.nccl_json().replace('"ngpus": 1', '"ngpus": 8').replace('"rank": 1', '"rank": 8')
    (table,) = nccl_json.parse(text)
    assert ("node1", "node2", 1) in cells(table)


def test_documents_may_follow_each_other():
    (table,) = nccl_json.parse(samples.nccl_json() + "\n" + samples.nccl_json(skipped=2))
    assert list(table.repeat) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (samples.nccl_json()[:-2], "line 1: the JSON that begins here is damaged or cut off"),
        (samples.nccl_json() + "3", "line 1: the JSON that begins here is damaged"),
        ("[" * 100_000, "line 1: the JSON that begins here is damaged"),
        ('{"nccl_version": 1, "nccl_version": 2}', "a JSON object has the same key twice"),
        (samples.nccl_json(config={}), "the JSON is not as nccl-tests writes it: \"KeyError('nthreads')\""),
        (samples.nccl_json(results=[]), "the JSON is not as nccl-tests writes it"),
        (samples.nccl_json(out_of_bounds={"count": 3}), "wrong data arrived between node1 gpu 0 and node2 gpu 0"),
        (
            samples.nccl_json(average_bus_bandwidth={"bandwidth": 43.9}),
            "the average bus bandwidth is not that of the 1",
        ),
        (samples.nccl_json().replace('"min_us": 98100.0', '"min_us": 98000.0'), "contradict their number, summary"),
        (samples.nccl_json().replace("97500.0", "98150.0"), "times of the 3 iterations contradict"),
        (samples.nccl_json().replace('"iterations": 3', '"iterations": 4'), "times of the 4 iterations contradict"),
        (samples.nccl_json().replace('"true"', '"false"'), "iterations of 4294967296 B are missing, or were not to be"),
        (samples.nccl_json().replace('"ngpus": 1', '"ngpus": 999999999999'), "a process has '999999999999' GPUs"),
        (samples.nccl_json().replace("node2", "a\\nb"), "a host has no name"),
        (samples.nccl_json().replace('"rank": 1', '"rank": 2'), "the list of ranks has gaps"),
    ],
)
def test_what_is_damaged_or_contradicts_itself_is_refused(text, cause):
    assert cause in refusal(nccl_json, text)
