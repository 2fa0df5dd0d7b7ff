# SPDX-License-Identifier: BSD-3-Clause
"""What is taken from the outputs, from golden ones; the values of real simulations are in test_published."""

from types import SimpleNamespace

import pytest

from fabric_twins import measured
from fabric_twins.errors import TwinError
from tests.twins.simulation import shipped


def test_every_value_of_a_twin_is_taken(golden):
    asked = []

    def run(nodes, ppn, program, arguments):
        asked.append((nodes, ppn, program))
        depth = arguments[-1] if program == "streaming" else "0"
        return golden(
            f"streaming/mpich-5.0.2{'' if depth == '0' else f'.queue-{depth}'}.txt"
        )

    for name in ("cbc", "osu-ib", "osu-quadrics"):
        twin = shipped(name)
        found, outputs = measured.values(run, twin)
        assert len(found) == len(outputs) == len(asked) == len(twin.cases)
        for case, values in zip(twin.cases, found, strict=True):
            assert {each.metric for each in case.values} <= values.keys()
        if name == "cbc":
            assert asked == [(2, 1, "streaming"), (1, 2, "streaming")]
        asked.clear()


def test_a_metric_that_its_program_does_not_measure(golden, small):
    metrics = "{colour_us: {value: 1, published: here, twin: fitted}}"
    case = f"{{check: Streaming, program: streaming, layout: 2x1, metrics: {metrics}}}"
    twin = small(added=f"values: [{case}]\n")
    with pytest.raises(
        TwinError,
        match=r"small\.yaml: values: streaming does not measure colour; it measures bidirect",
    ):
        measured.values(lambda *_: golden("streaming/mpich-5.0.2.txt"), twin)


def test_a_twin_without_values_is_not_simulated():
    def run(*_):
        raise AssertionError("nothing is to be run")

    assert measured.values(run, shipped("spirit")) == ([], [])


def scan(*rows):
    return SimpleNamespace(
        **{
            name: [row[at] for row in rows]
            for at, name in enumerate(("round", "sender", "receiver", "MBps"))
        }
    )


def test_pairs_of_one_leaf_share_nothing_and_rounds_are_counted_apart():
    # 0 and 1, 2 and 3 are on the first leaf; 0 to 127 goes over two cables, in a round of its own.
    rates = scan(
        (0, 0, 1, 670.0), (0, 2, 3, 670.0), (1, 0, 127, 600.0), (2, 1, 127, 500.0)
    )
    assert measured.by_sharing(shipped("feynman"), rates) == {
        1: [670.0, 670.0, 600.0, 500.0]
    }


def test_pairs_from_one_leaf_to_one_host_share_a_cable():
    """A leaf with a destination table sends all messages for one host over one cable."""
    rates = scan((0, 0, 127, 480.0), (0, 1, 127, 490.0), (0, 32, 33, 670.0))
    assert measured.by_sharing(shipped("feynman"), rates) == {
        2: [480.0, 490.0],
        1: [670.0],
    }
