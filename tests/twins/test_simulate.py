# SPDX-License-Identifier: BSD-3-Clause
"""Simulations are bounded in time and memory, and one that does not come to its end is an error with its
cause."""

import shutil
import time

import pytest

from fabric_twins import simgrid as simgrid_tools
from fabric_twins import simulate
from fabric_twins.errors import TwinError
from tests.guard import GUARD_S
from tests.twins.simulation import simgrid

ROTATE = ("--size", "1M", "--messages", "1", "--tests", "1")


@simgrid
def test_a_program_that_cannot_be_compiled(tmp_path, monkeypatch):
    sources = tmp_path / "src"
    shutil.copytree(simulate.SOURCE, sources)
    (sources / "rotate.c").write_text("int main(void) { return 0 }\n")
    monkeypatch.setattr(simulate, "SOURCE", sources)
    with pytest.raises(
        TwinError,
        match=r"rotate\.c cannot be compiled for the simulator: smpicc says .*error: expect",
    ):
        simulate.program("rotate", tmp_path / "out")
    assert not list((tmp_path / "out").rglob("rotate"))


@simgrid
def test_a_program_that_refuses_says_why(small):
    with pytest.raises(TwinError, match=r"small\.yaml: rotate on 2 nodes: .*--size"):
        simulate.output(small(), 2, "rotate", ["--size", "many"], simulate.Bounds())


@simgrid
def test_a_simulation_that_takes_too_long_is_ended(small):
    simulate.program("rotate"), simgrid_tools.plugin()
    begin = time.monotonic()
    with pytest.raises(
        TwinError,
        match=r"rotate on 8 nodes: the simulation is not done after 1 s; give it fewer nodes",
    ):
        simulate.output(
            small(),
            8,
            "rotate",
            [*ROTATE, "--tests", "10000", "--messages", "1000"],
            simulate.Bounds(seconds=1),
        )
    assert time.monotonic() - begin < GUARD_S / 2


@simgrid
def test_a_simulation_that_takes_too_much_memory_is_ended(small):
    with pytest.raises(
        TwinError,
        match=r"rotate on 8 nodes: .*memory.*\(the limit is 64 MiB, which --memory-limit rai",
    ):
        simulate.output(
            small(),
            8,
            "rotate",
            ["--size", "256M", *ROTATE[2:]],
            simulate.Bounds(memory_MiB=64),
        )
