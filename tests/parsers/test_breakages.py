# SPDX-License-Identifier: BSD-3-Clause
"""Every parser refuses each way in which an output breaks, in one line."""

import re

import pytest

from fabric_checks.core.errors import OutputError
from tests import breakages
from tests.parsers import corpus

#: The columns with measured values, counted from 0, by parser and the pattern of an output's name.
#: Our own programs have one form and two readers: those of hot_spot and of rotate.
COLUMNS = {
    ("osu", r"osu-py/.*"): [1],
    ("imb", r"imb/2021.11/Ping(Pong|Ping)-2-None"): [2, 3],
    ("imb", r"imb/2021.11/(Sendrecv|Exchange)-2-None"): [2, 3, 4, 5],
    ("imb", r"imb/2021.11/(Alltoall|Allgather|Bcast|Allreduce|Reduce)-2-None"): [2, 3, 4],
    ("imb", r"imb/2021.11/Barrier-2-None"): [1, 2, 3],
    ("hot_spot", r".*"): [2, 4, 7, 9],
    ("rotate", r".*"): [3],
}


def require_refused(whole, broken):
    """Fail unless each broken variant is refused in one line."""
    for name, text in broken.items():
        with pytest.raises(OutputError) as caught:
            whole.parse(text)
            pytest.fail(f"{whole.name}: {name} passed")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("parser", "pattern"), COLUMNS)
def test_a_broken_table_is_refused(parser, pattern):
    wholes = [whole for whole in corpus.OUTPUTS[parser]() if re.fullmatch(pattern, whole.name)]
    assert wholes
    for whole in wholes:
        require_refused(whole, breakages.of_table(whole.text, COLUMNS[parser, pattern]))


def test_broken_runs_of_lammps_are_refused():
    for whole in corpus.lammps_outputs():
        require_refused(whole, breakages.of_lammps(whole.text))
