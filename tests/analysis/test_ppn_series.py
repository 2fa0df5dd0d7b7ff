# SPDX-License-Identifier: BSD-3-Clause
"""Run times over the nodes: efficiencies, the gap between one process a node and more, and its slope."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks.analysis import ppn_series
from fabric_checks.core.layouts import Layout


def times(**seconds):
    return {Layout.of(name[1:]): time for name, time in seconds.items()}


def test_a_problem_of_one_size():
    found = ppn_series.values(
        times(_1x1=8.0, _1x2=4.0, _2x1=4.0, _2x2=2.5), scaled=False
    )
    assert found == {
        "loop_time_1x1": 8.0,
        "loop_time_1x2": 4.0,
        "loop_time_2x1": 4.0,
        "loop_time_2x2": 2.5,
        "efficiency_2x1": 100,
        "efficiency_2x2": pytest.approx(80),
        "ppn_gap_1x2": -50,
        "ppn_gap_2x2": pytest.approx(-37.5),
        "ppn_gap_per_doubling": pytest.approx(12.5),
    }


def test_a_problem_that_grows_with_the_nodes():
    found = ppn_series.values(
        times(_1x1=8.0, _1x2=4.0, _2x1=10.0, _2x2=5.0), scaled=True
    )
    assert found["efficiency_2x1"] == 80
    assert found["efficiency_2x2"] == 80
    assert found["ppn_gap_per_doubling"] == pytest.approx(0)


def test_one_node_has_no_slope():
    assert ppn_series.values(times(_1x1=8.0, _1x4=2.0), scaled=False) == {
        "loop_time_1x1": 8.0,
        "loop_time_1x4": 2.0,
        "ppn_gap_1x4": -75,
    }


def test_the_slope_is_by_doubling_also_where_the_last_step_is_less():
    """Five points of +3 % a doubling, on 1, 2, 4, 8 and 12 nodes."""
    series = {}
    for layout in ppn_series.launches(Layout(12, 2)):
        series[layout] = 1.0 if layout.ppn == 1 else 1 + 0.03 * log2(layout.nodes)
    assert ppn_series.values(series, scaled=True)[
        "ppn_gap_per_doubling"
    ] == pytest.approx(3)


@given(st.integers(1, 40), st.integers(2, 64), st.booleans())
def test_every_declared_value_is_there(nodes, ppn, scaled):
    largest = Layout(nodes, ppn)
    series = {layout: 1.0 + layout.tasks for layout in ppn_series.launches(largest)}
    assert list(ppn_series.values(series, scaled=scaled)) == [
        m.name for m in ppn_series.metrics(largest)
    ]
    assert all(
        set(map(str, series)) >= set(values)
        for values in ppn_series.compared(series).values()
    )
