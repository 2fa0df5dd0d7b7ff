# SPDX-License-Identifier: BSD-3-Clause
"""The parser of the placement probe."""

import pytest

from fabric_checks.parsers import placement
from tests.breakages import refused
from tests.own_outputs import changed, summed

TEXT = summed("""\
# fabric-checks placement 1
# mpi: MPICH Version:      5.0.2
# compiler: gcc 12.2.0
# ranks: 2
# columns: rank host node cpu cpus cores online
0 hosta - 0 0-1 0:0,0:1 0-3,8
1 hosta n2 1 1 - -
# complete: 2 rows
""")


def test_a_real_output():
    output = placement.parse("Loading mpi\n" + TEXT)
    assert output.mpi == "MPICH Version:      5.0.2"
    assert output.compiler == "gcc 12.2.0"
    assert [rank.node for rank in output.ranks] == ["hosta", "n2"]
    assert output.ranks[0].cores == {"0:0", "0:1"}
    assert output.ranks[1].cores == frozenset()
    assert [rank.online for rank in output.ranks] == ["0-3,8", "-"]


def test_a_simulated_output_tells_no_cpus():
    """SimGrid's ranks are all one process of the machine that simulates."""
    output = placement.parse(changed(TEXT, "0 0-1 0:0,0:1 0-3,8", "-1 - - -"))
    assert output.ranks[0].cpus == "-"
    assert output.ranks[0].cores == frozenset()
    assert output.ranks[0].online == "-"


@pytest.mark.parametrize(
    "text, numbers",
    [("-", set()), ("0", {0}), ("0-3,8", {0, 1, 2, 3, 8}), ("7,5-6", {5, 6, 7})],
)
def test_cpu_lists(text, numbers):
    assert placement.cpu_numbers(text) == numbers


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("# ranks: 2", "# ranks: 3", "3 ranks ran, but 2 are listed"),
        ("n2 1 1", "n2 many 1", "line 7: cpu is 'many', not a whole number from -1"),
    ],
)
def test_what_cannot_be_is_refused(old, new, message):
    with refused(message):
        placement.parse(changed(TEXT, old, new))


def test_a_launcher_of_another_mpi_is_named():
    """A launcher that does not know the program's MPI starts worlds of one rank each."""
    with refused(
        "2 separate MPI worlds instead of one: the launcher belongs to a different"
    ):
        placement.parse(TEXT + TEXT)
