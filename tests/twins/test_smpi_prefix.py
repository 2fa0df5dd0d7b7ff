# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's compiler wrappers as an MPI that Spack can use: config/twins/smpi, and the environment that it
makes."""

import os
import subprocess

import pytest

from fabric_checks.core.paths import ROOT
from fabric_checks.software.spack.environments import environments
from tests import programs
from tests.twins.simulation import simgrid

BIN = ROOT / "config/twins/smpi/bin"
SCOPES = ROOT / "config/twins/spack"
PROGRAM = """\
#include <mpi.h>
#include <cstdlib>
#include <vector>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    std::vector<char> message(64);
    void *memory = std::malloc(64); /* a macro there would not be a member of std */
    std::free(memory);
    MPI_Finalize();
    return 0;
}
"""


def compile_with(wrapper, source, output, **variables):
    command = [BIN / wrapper, source, "-o", output]
    return programs.run(command, env=os.environ | variables)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "program.cpp"
    path.write_text(PROGRAM)
    return path


@simgrid
def test_cxx_that_uses_malloc_is_compiled_for_the_simulator(source, tmp_path):
    assert compile_with("mpicxx", source, tmp_path / "program").returncode == 0
    # The simulator that loads the program brings MPI_Init with it; an MPI's own wrapper would have linked a
    # library.
    symbols = programs.run(["nm", "-D", tmp_path / "program"], check=True).stdout
    libraries = programs.run(["ldd", tmp_path / "program"]).stdout
    assert " MPI_Init" in symbols and "libmpi" not in libraries


@simgrid
def test_what_a_configure_tries_starts_by_itself(source, tmp_path):
    conftest = tmp_path / "conftest.c"
    conftest.write_text("int main(void) { return 0; }\n")
    assert compile_with("mpicc", conftest, tmp_path / "conftest").returncode == 0
    assert subprocess.run([tmp_path / "conftest"], check=False).returncode == 0


def test_the_simgrid_of_the_variable_is_used(source, tmp_path):
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin/smpicxx"
    fake.write_text('#!/bin/sh\necho "own $@"\n')
    fake.chmod(0o755)
    done = compile_with("mpicxx", source, "out", SIMGRID_ROOT=str(tmp_path))
    assert done.stdout.startswith(
        "own -DSMPI_NO_OVERRIDE_MALLOC "
    ) and done.stdout.endswith("-o out\n")


def test_the_environment_offers_what_sends_messages(monkeypatch):
    monkeypatch.setenv("FABRIC_HOME", "/home")
    (made,) = environments(SCOPES, ["cbc", "twins"])
    assert made["name"] == "smpi-spack" and made["target_systems"] == ["cbc", "twins"]
    assert {"osu", "imb"} <= set(made["features"]) and not {"lammps", "npb"} & set(
        made["features"]
    )
    assert ["PATH", f"{BIN}:$PATH"] in made["env_vars"]
