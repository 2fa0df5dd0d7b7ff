# SPDX-License-Identifier: BSD-3-Clause
"""What is taken from the outputs, from golden ones; the figures of real simulations are in test_published."""

from fabric_twins import measured
from tests.twins.simulation import shipped


def test_every_figure_of_a_twin_has_a_value(golden):
    asked = []

    def run(nodes, ppn, program, arguments):
        asked.append((nodes, ppn, program))
        depth = arguments[-1] if program == "streaming" else "0"
        return golden(f"streaming/mpich-5.0.2{'' if depth == '0' else f'.queue-{depth}'}.txt")

    for name in ("cbc", "osu-ib", "osu-quadrics"):
        twin = shipped(name)
        found, outputs = measured.figures(run, twin)
        wanted = {
            (benchmark, figure.rpartition("_")[0]) for benchmark, below in twin.figures.items() for figure in below
        }
        assert wanted <= set(found) and len(outputs) == len(asked)
        asked.clear()


def test_a_twin_without_figures_is_not_simulated():
    def run(*_):
        raise AssertionError("nothing is to be run")

    assert measured.figures(run, shipped("spirit")) == ({}, [])


def test_the_two_ranks_of_a_node_are_measured_on_one_node(golden):
    asked = []

    def run(*what):
        asked.append(what[:3])
        return golden("streaming/mpich-5.0.2.txt")

    measured.figures(run, shipped("cbc"))
    assert asked == [(2, 1, "streaming"), (1, 2, "streaming")]
