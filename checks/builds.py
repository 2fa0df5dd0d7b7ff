# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures that build what the checks run."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function

from fabric_checks.mixins import without_deprecated_alias


@without_deprecated_alias
class FabricPrograms(rfm.CompileOnlyRegressionTest):
    """The collection's own MPI programs, built once for each environment with its ``mpicc``."""

    descr = "Build the collection's own MPI programs"
    sourcesdir = "fabric/src"
    build_system = "Make"

    @run_before("compile")
    def use_mpicc(self):
        """Leave the compiler and its flags to the environment and the Makefile."""
        self.build_system.cc = self.current_environ.cc

    @sanity_function
    def programs_exist(self):
        """Require every program that has a source."""
        programs = [path.removesuffix(".c") for path in sn.evaluate(sn.glob(f"{self.stagedir}/*.c"))]
        return sn.all(
            [
                sn.assert_true(programs, msg="no source in checks/fabric/src"),
                *(sn.path_isfile(program) for program in programs),
            ]
        )
