# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries of the wheels, started by srun: they take the nodes for hosts."""

import os
import re
import subprocess

import pytest

from fabric_checks.software import installed
from tests.guard import GUARD_S

SOURCE = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int rank, length, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d on %s, sum %d\\n", rank, name, sum);
    return MPI_Finalize();
}
"""
# The plugin of srun, and variables of the library.
MPIS = {
    "mpich": ("pmi2", {}),
    "impi": ("pmi2", {"I_MPI_THREAD_YIELD": "3"}),
    "openmpi": ("pmix", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
}


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize(("layout", "hosts"), [("-N2 -n2", "12"), ("-N3 -n6", "112233")])
def test_ranks_are_on_different_hosts(four, tmp_path, mpi, layout, hosts):
    prefix = installed.folder(mpi)
    assert (prefix / "bin" / "mpicc").exists(), f"{mpi} is not set up; run ci/test"
    env = {"I_MPI_ROOT": str(prefix), "LD_LIBRARY_PATH": f"{prefix}/lib"}
    (tmp_path / "where.c").write_text(SOURCE)
    compiler = {"PATH": f"{prefix}/bin:{os.environ['PATH']}"}
    build = ["mpicc", "-o", str(tmp_path / "where"), str(tmp_path / "where.c")]
    subprocess.run(build, env=os.environ | env | compiler, check=True, timeout=GUARD_S)
    plugin, more = MPIS[mpi]
    done = four.srun(f"--mpi={plugin}", *layout.split(), tmp_path / "where", **env, **more)
    assert done.returncode == 0, done.stderr
    ranks = re.findall(r"^rank (\d+) on n(\d), sum (\d+)$", done.stdout, re.MULTILINE)
    assert "".join(host for _, host, _ in sorted(ranks)) == hosts, done.stdout + done.stderr
    assert {int(total) for _, _, total in ranks} == {sum(range(len(hosts)))}
