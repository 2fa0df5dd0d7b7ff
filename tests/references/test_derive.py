# SPDX-License-Identifier: BSD-3-Clause
"""References from values: against SciPy's MAD, and against ReFrame's own judgement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reframe.utility import sanity as sn
from scipy import stats

from fabric_checks.core.errors import ReferenceError
from fabric_checks.records.record import limit
from fabric_checks.references.derive import derive

STEADY = [10.0, 10.1, 9.9, 10.05, 9.95, 10.2, 9.8]


def test_the_median_and_three_robust_sigmas():
    found = derive(STEADY, "smaller")
    assert found.value == 10.0
    sigma = stats.median_abs_deviation(STEADY, scale="normal") / 10.0
    assert 3 * sigma <= found.upper < 3 * sigma + 0.001
    assert found.lower is None


def test_a_bound_is_at_least_two_percent_away():
    assert derive([100.0] * 5, "larger").lower == -0.02


def test_what_was_seen_once_is_within():
    found = derive([10.0] * 9 + [13.0], "smaller")
    assert found.value == 10.0
    assert found.upper == 0.3
    # What is too good widens nothing.
    assert derive([10.0] * 9 + [7.0], "smaller").upper == 0.02


def test_of_negative_values_the_bound_is_on_the_same_side():
    found = derive([-10.0] * 9 + [-8.0], "smaller")
    assert found.upper == 0.2 and limit(found.value, found.upper) == -8.0


@pytest.mark.parametrize(
    "values",
    [[0.0, 0.0, 1.0], [1.0, 1.0, 9.0, 1e-3, 5e-4, 2.0], [], [1.0, float("nan")]],
)
def test_what_gives_no_reference(values):
    with pytest.raises(ReferenceError):
        derive(values, "larger")


def test_the_last_bit_counts():
    """102.5 is 2.5 % above 100, and 100 * (1 + 0.025), as ReFrame reckons, is less than 102.5 in binary."""
    assert 100 * (1 + 0.025) < 102.5
    found = derive([100.0] * 9 + [102.5], "smaller")
    assert sn.evaluate(
        sn.assert_reference(102.5, found.value, found.lower, found.upper)
    )
    assert found.upper == 0.026
    # -2 * (1 - 0.7) is just below -0.6.
    found = derive([-2.0, -2.0, -0.6], "smaller")
    assert found.upper == 0.701 and sn.evaluate(
        sn.assert_reference(-0.6, found.value, found.lower, found.upper)
    )


finite = st.floats(1e-3, 1e7)


@given(
    st.lists(finite, min_size=1, max_size=30),
    st.sampled_from(["smaller", "larger"]),
    st.booleans(),
)
def test_every_value_that_it_came_from_meets_it(values, better, negative):
    values = [-value for value in values] if negative else values
    try:
        found = derive(values, better)
    except ReferenceError:
        return
    for value in values:
        assert sn.evaluate(
            sn.assert_reference(value, found.value, found.lower, found.upper)
        )
    assert (found.upper if better == "smaller" else found.lower) is not None
