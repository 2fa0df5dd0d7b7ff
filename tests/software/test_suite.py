# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of a suite, and its programs, which have to match it."""

import pytest

from fabric_checks.software.suite import release_of
from fabric_checks.software.suites import imb, lammps


@pytest.mark.parametrize(
    "given, wrong",
    [
        ({"features": ("imb_mpi1",)}, "imb_mpi1"),
        ({"without": {"imb_io": "not built"}}, "imb_io"),
        ({"inputs": "/data"}, "inputs"),
    ],
)
def test_a_program_has_to_match_its_suite(given, wrong):
    with pytest.raises(
        ValueError, match=f"the suite imb and this program of it disagree about {wrong}"
    ):
        imb.SUITE.program("/bin/{benchmark}", "2021.7", **given)
    with pytest.raises(ValueError, match="inputs"):
        lammps.SUITE.program("/bin/lmp", "2025")


@pytest.mark.parametrize("called, name", [("", "imb"), ("imb", "imb")])
def test_a_program_is_called_as_its_suite_unless_named(called, name):
    assert (
        imb.SUITE.program("/bin/{benchmark}", "2021.7", called=called).description[
            "program"
        ]
        == name
    )


@pytest.mark.parametrize(
    "version, numbers",
    [("7.5.2", (7, 5, 2)), ("7.1-1", (7, 1, 1)), ("2021.7", (2021, 7)), ("main", ())],
)
def test_a_release_has_leading_numbers(version, numbers):
    assert release_of(version) == numbers
