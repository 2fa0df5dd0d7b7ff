# SPDX-License-Identifier: BSD-3-Clause
"""The parser of the placement probe."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import placement

TEXT = """\
# fabric-checks placement 1
# mpi: MPICH Version:      5.0.2
# compiler: gcc 12.2.0
# ranks: 2
# columns: rank host node cpu cpus cores online
0 hosta - 0 0-1 0:0,0:1 0-3,8
1 hosta n2 1 1 - -
# complete: 2 ranks
"""


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
    output = placement.parse(TEXT.replace("0 0-1 0:0,0:1 0-3,8", "-1 - - -"))
    assert (output.ranks[0].cpus, output.ranks[0].cores, output.ranks[0].online) == ("-", frozenset(), "-")


@pytest.mark.parametrize(
    ("text", "numbers"), [("-", set()), ("0", {0}), ("0-3,8", {0, 1, 2, 3, 8}), ("7,5-6", {5, 6, 7})]
)
def test_cpu_lists(text, numbers):
    assert placement.cpu_numbers(text) == numbers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("# complete: 2 ranks\n", ""), "the last line"),
        (("# complete: 2", "# complete: 3"), "counts 3 rows, found 2"),
        (("1 hosta", "2 hosta"), "line 7: rank 1 was expected, found '2'"),
        (("1 hosta n2", "1 hosta"), "line 7: a row of 7 columns was expected"),
        (("# mpi: MPICH Version:      5.0.2\n", ""), "'# mpi: ...' is missing"),
        (("1 1 - -", "1 many - -"), "line 7: a list of CPUs was expected, found 'many'"),
        (("1 1 - -", "1 3-1 - -"), "line 7: a list of CPUs in order was expected, found '3-1'"),
        (("1 1 - -", "1 0,,1 - -"), "line 7: a list of CPUs was expected, found '0,,1'"),
        (("1 1 - -", "1 1234567 - -"), "line 7: a list of CPUs was expected, found '1234567'"),
        (("1 1 - -", "1 1 - all"), "line 7: a list of CPUs was expected, found 'all'"),
        (("0:0,0:1", "0:0,"), "line 6: a list of cores was expected, found '0:0,'"),
        (("0:0,0:1", "first"), "line 6: a list of cores was expected, found 'first'"),
        ((" online", ""), "online"),
        (("placement 1", "placement 9"), "format 9 of placement is unknown"),
        ((TEXT, ""), "did not start"),
    ],
)
def test_broken_outputs_are_refused(change, message):
    with pytest.raises(OutputError, match=message):
        placement.parse(TEXT.replace(*change))


def test_a_launcher_of_another_mpi_is_named():
    """A launcher that does not know the program's MPI starts worlds of one rank each."""
    with pytest.raises(
        OutputError, match="2 separate MPI worlds instead of one: the launcher belongs to a different MPI"
    ):
        placement.parse(TEXT + TEXT)


def test_another_number_of_ranks_than_the_header_says():
    with pytest.raises(OutputError, match="the header says that '3' ranks ran, the table has 2"):
        placement.parse(TEXT.replace("# ranks: 2", "# ranks: 3"))
