# SPDX-License-Identifier: BSD-3-Clause
"""The command line of a simulation, and the ways in which one fails, provoked for real where that can be
done."""

import pytest

from fabric_twins import smpirun
from fabric_twins.errors import TwinError
from tests import programs
from tests.twins.simulation import SOURCES, shipped, simgrid

LAST = r"# complete: \d+ \w+"


def test_hosts_are_filled_one_after_the_other():
    assert smpirun.hostfile(shipped("cbc"), 2, 2) == "n00\nn00\nn01\nn01\n"
    for nodes, ppn in ((17, 1), (2, 3), (0, 1)):
        with pytest.raises(
            TwinError,
            match=rf"cbc has 16 nodes of 2 processors, so {nodes} x {ppn} do not fit",
        ):
            smpirun.hostfile(shipped("cbc"), nodes, ppn)


def test_every_program_that_measures_has_options():
    programs = {file.stem for file in SOURCES.glob("*.c")} - {"placement", "ports"}
    assert set(smpirun.PROGRAM_OPTIONS) == programs


@pytest.mark.parametrize("name", smpirun.PROGRAM_OPTIONS)
def test_a_program_knows_its_options(name):
    source = "".join(
        file.read_text()
        for file in (SOURCES / f"{name}.c", *(SOURCES / "common").glob("*.h"))
    )
    for option in smpirun.PROGRAM_OPTIONS[name][::2]:
        assert f'{{"{option.removeprefix("--")}",' in source


def test_an_end_without_the_last_line_is_a_failure_whatever_the_status():
    assert smpirun.failure("x\n# complete: 3 rows\n\n", "", 0, LAST) is None
    cause = smpirun.failure("1 2\n3 4\n", "", 0, LAST)
    assert (
        cause
        == "the simulation ended before the program's last line; its last line is '3 4'"
    )
    assert smpirun.failure("1 2\n3 4\n", "", 3, LAST) == cause.replace(
        "ended", "ended with status 3"
    )
    assert "with status 2" in smpirun.failure("# complete: 3 rows\n", "", 2, LAST)
    assert (
        "before the program's last line; its last line is 'nothing'"
        in smpirun.failure("", "", 0, LAST)
    )


@pytest.mark.parametrize("status", [-9, 137])
def test_a_killed_simulation(status):
    assert (
        "was killed, most likely because of its memory use; give it fewer"
        in smpirun.failure("1 2\n", "Killed\n", status, LAST)
    )


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_simgrid_that_is_not_there(tmp_path, path):
    command = smpirun.command(shipped("cbc"), tmp_path, tmp_path, 2, ["x"])
    script = ["/bin/bash", "-c", " ".join(command)]
    done = programs.run(script, env={"PATH": path}, cwd=tmp_path)
    cause = smpirun.failure(done.stdout, done.stderr, done.returncode, LAST)
    assert done.returncode == 127
    assert cause == "SimGrid is not there; install SimGrid 3.32 to 4.1"


@simgrid
def test_a_plugin_that_was_not_built(simulator, tmp_path):
    twin = shipped("cbc")
    (tmp_path / "hosts").write_text(smpirun.hostfile(twin, 2, 1))
    command = smpirun.command(twin, tmp_path / "twin.so", tmp_path / "hosts", 2, ["x"])
    done = programs.run(command, cwd=tmp_path)
    cause = smpirun.failure(done.stdout, done.stderr, done.returncode, LAST)
    assert cause == f"{tmp_path}/twin.so is not there; build or write it first"
