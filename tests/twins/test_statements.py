# SPDX-License-Identifier: BSD-3-Clause
"""A few of the statements that compare clusters, on their twins; ``python -m lab.statements`` tries all."""

import pytest

from lab import statements
from tests.twins.simulation import simgrid

pytestmark = simgrid

#: One of collectives, one of point-to-point messages, and one that the twins contradict, for a reason that is
#: known.
FEW = (
    "allreduce is slightly better on cbc at every size",
    "the hot spot grows less on Quadrics",
    "polling costs least on Quadrics and most on Myrinet",
)


@pytest.fixture(scope="module")
def twins(simulator):
    return statements.Twins(simulator)


@pytest.mark.parametrize("words", FEW)
def test_the_twins_agree_or_contradict_as_the_page_says(twins, words):
    (statement,) = (each for each in statements.STATEMENTS if each.words == words)
    assert statement.is_as_expected(twins)
