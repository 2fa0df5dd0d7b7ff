# SPDX-License-Identifier: BSD-3-Clause
"""What is taken from the outputs, from golden ones; the values of real simulations are in test_published."""

from fabric_twins import measured
from tests.twins.simulation import shipped


def test_every_value_of_a_twin_is_taken(golden):
    asked = []

    def run(nodes, ppn, program, arguments):
        asked.append((nodes, ppn, program))
        depth = arguments[-1] if program == "streaming" else "0"
        return golden(f"streaming/mpich-5.0.2{'' if depth == '0' else f'.queue-{depth}'}.txt")

    for name in ("cbc", "osu-ib", "osu-quadrics"):
        twin = shipped(name)
        found, outputs = measured.values(run, twin)
        wanted = {
            (benchmark, published.rpartition("_")[0]) for benchmark, below in twin.values.items() for published in below
        }
        assert wanted <= set(found) and len(outputs) == len(asked)
        asked.clear()


def test_a_twin_without_values_is_not_simulated():
    def run(*_):
        raise AssertionError("nothing is to be run")

    assert measured.values(run, shipped("spirit")) == ({}, [])


def test_the_two_ranks_of_a_node_are_measured_on_one_node(golden):
    asked = []

    def run(*what):
        asked.append(what[:3])
        return golden("streaming/mpich-5.0.2.txt")

    measured.values(run, shipped("cbc"))
    assert asked == [(2, 1, "streaming"), (1, 2, "streaming")]
