# SPDX-License-Identifier: BSD-3-Clause
"""What a suite declares, and its programs are held to."""

import pytest

from fabric_checks.software.suite import release_of
from fabric_checks.software.suites import imb, lammps


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"features": ("imb_mpi1",)}, "imb_mpi1"),
        ({"without": {"imb_io": "not built"}}, "imb_io"),
        ({"called": "impi"}, "impi"),
        ({"inputs": "/data"}, "inputs"),
    ],
)
def test_a_program_is_what_its_suite_declares(said, wrong):
    with pytest.raises(ValueError, match=f"the suite imb and this program of it disagree about {wrong}"):
        imb.SUITE.program("/bin/{benchmark}", "2021.7", **said)
    with pytest.raises(ValueError, match="inputs"):
        lammps.SUITE.program("/bin/lmp", "2025")


@pytest.mark.parametrize(
    ("version", "numbers"), [("7.5.2", (7, 5, 2)), ("7.1-1", (7, 1, 1)), ("2021.7", (2021, 7)), ("main", ())]
)
def test_releases(version, numbers):
    assert release_of(version) == numbers
