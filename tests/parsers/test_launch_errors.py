# SPDX-License-Identifier: BSD-3-Clause
"""What launchers print when a program could not start."""

import pytest

from fabric_checks.parsers import launch_errors

#: As Slurm 22.05 and MPICH 5.0.2 print it; the request is cut to a part.
CUT = """\
slurmstepd-n2: error: mpi/pmi2: value not properly terminated in client request
slurmstepd-n2: error: mpi/pmi2: request not begin with 'cmd='
slurmstepd-n2: error: mpi/pmi2: full request is: 333333333333333333333333333333333333333333333333333

slurmstepd-n2: error: mpi/pmi2: invalid client request
srun: error: n4: task 1: Exited with exit code 15
"""


def test_a_start_up_that_slurm_cut_is_known():
    assert launch_errors.known(CUT).startswith("MPICH could not start, which is not the fault of a node")


@pytest.mark.parametrize("text", ["", "srun: error: n4: task 1: Exited with exit code 15\n", "mpi/pmi2: all is well\n"])
def test_of_others_nothing_is_known(text):
    assert launch_errors.known(text) is None
