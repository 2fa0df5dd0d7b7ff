# SPDX-License-Identifier: BSD-3-Clause
"""Building the plugin and our programs with SimGrid, and running them on twins, for the tests that do so for
real."""

import os
import shutil

import pytest

from fabric_twins import simgrid as installed
from fabric_twins import simulate, smpirun
from fabric_twins.model import description, platform_file
from tests import programs
from tests.conftest import ROOT

TWINS = ROOT / "config/twins"
SOURCES = ROOT / "checks/fabric/src"

simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None or shutil.which("smpicc") is None,
    reason=f"SimGrid {smpirun.SUPPORTED} (smpirun, smpicc) is not installed: apt-get install libsimgrid-dev",
)


def build_plugin(folder, *flags):
    command = [
        "make",
        "-f",
        TWINS / "plugin/Makefile",
        "CXXFLAGS=" + " ".join(flags),
    ]
    programs.succeed(command, cwd=folder)
    return folder / "twin.so"


def build(source, folder):
    command = ["smpicc", "-std=c11", "-O2", source, "-o"]
    programs.succeed([*command, folder / source.stem])
    return folder / source.stem


class Simulator:
    """The plugin and programs; those that are shipped as they are kept, for compiling takes longer than
    simulating."""

    def __init__(self, folder):
        self.folder = folder
        self.plugin = installed.plugin()
        self.programs = {}

    def program(self, source):
        if source not in self.programs:
            kept = source.parent == SOURCES
            self.programs[source] = (
                simulate.program(source.stem) if kept else build(source, self.folder)
            )
        return self.programs[source]

    def run(self, twin, nodes, ppn, source, *arguments, platform=None):
        """Run a program on a twin; return what subprocess.run does."""
        file = self.folder / f"{twin.name}.platform"
        file.write_text(platform_file.platform(twin) if platform is None else platform)
        hosts = self.folder / f"{twin.name}.hosts"
        hosts.write_text(smpirun.hostfile(twin, nodes, ppn))
        program = [str(self.program(source)), *arguments]
        command = smpirun.command(twin, self.plugin, hosts, nodes * ppn, program)
        env = smpirun.FASTER | os.environ | {smpirun.PLATFORM_VARIABLE: str(file)}
        return programs.run(command, env=env, cwd=self.folder)

    def output(self, *arguments):
        """Return the output of a run that has to end well."""
        done = self.run(*arguments)
        assert (
            smpirun.failure(
                done.stdout, done.stderr, done.returncode, r"# complete: \d+ row.*"
            )
            is None
        ), done.stderr
        return done.stdout


def shipped(name):
    return description.load(TWINS / f"{name}.yaml")
