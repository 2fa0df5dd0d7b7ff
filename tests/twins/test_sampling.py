# SPDX-License-Identifier: BSD-3-Clause
"""The options are for programs that there are, and each of them takes its own."""

import subprocess

import pytest

from fabric_twins import sampling, simulate
from tests.twins.simulation import SOURCES, simgrid


def test_every_program_has_options():
    assert set(sampling.OPTIONS) == {file.stem for file in SOURCES.glob("*.c")} - {"placement"}


@simgrid
@pytest.mark.parametrize("name", sampling.OPTIONS)
def test_a_program_knows_its_options(name):
    told = subprocess.run([simulate.program(name), "--help"], capture_output=True, text=True).stdout
    source = (SOURCES / f"{name}.c").read_text() + (SOURCES / "fabric.h").read_text()
    for option in sampling.OPTIONS[name][::2]:
        assert f'{{"{option.removeprefix("--")}",' in source or f"  {option} " in told
