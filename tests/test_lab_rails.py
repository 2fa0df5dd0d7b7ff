# SPDX-License-Identifier: BSD-3-Clause
"""What is at fault between GPUs is named, on machines of the second model; `lab/fluid/rails.py` has more of
them."""

import re

import pytest

from lab.fluid import rails


@pytest.mark.parametrize("seed", [100, 102])
@pytest.mark.parametrize(
    "fault", [fault for fault in rails.FAULTS if fault != "healthy"]
)
def test_the_part_at_fault_is_named_and_nothing_else(fault, seed):
    outcome, truth, texts = rails.trial(seed, fault, nodes=8)
    assert outcome == "named", f"{truth}: {texts}"


@pytest.mark.parametrize("seed", range(100, 103))
def test_nothing_is_blamed_where_all_is_well(seed):
    assert rails.trial(seed, "healthy", nodes=16)[0] == "named"


def test_hosts_of_a_slow_class_are_neither_faults_nor_a_rail():
    """Of sixteen hosts four are of a class whose GPUs all are slower, and one of the others is at fault."""
    outcome, _, texts = rails.trial(9608, "node .8", nodes=16)
    assert outcome == "named", texts


def test_parts_are_named_as_an_operator_calls_them():
    texts = {fault: rails.trial(100, fault, nodes=8)[2] for fault in rails.FAULTS}
    for fault, name in (
        ("GPU .8", r"node cn000\d, GPU \d"),
        ("rail .8", r"rail (\d) \(GPU \1 of all nodes\)"),
        ("node .8", r"node cn000\d \(all its GPUs\)"),
        ("adapter .8", r"node cn000\d, the adapter of GPUs \d, \d"),
    ):
        assert re.match(rf"{name} sends and receives at (79|8\d) % ", texts[fault])
