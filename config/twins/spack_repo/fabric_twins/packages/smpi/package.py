# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's MPI, always an external: what simulates is on the machine already."""

from spack.package import join_path, provides, version
from spack_repo.builtin.build_systems.generic import Package


class Smpi(Package):
    """SMPI, the MPI of SimGrid: programs run on a simulated cluster."""

    homepage = "https://simgrid.org"
    has_code = False

    version("3.32")

    provides("mpi@:3.1")

    def setup_dependent_package(self, module, dependent_spec):
        """Tell recipes which compiler wrappers to use; Fortran is not offered."""
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
