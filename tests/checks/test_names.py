# SPDX-License-Identifier: BSD-3-Clause
"""Checks ask for features: none names a scheduler, a launcher, an MPI or a system."""

import ast
import re

import pytest

from tests.conftest import TESTS
from tests.loading import shipped_systems

CHECKS = TESTS.parent / "checks"
SCHEDULERS = {"slurm", "squeue", "sbatch", "pbs", "torque", "flux", "lsf", "sge", "oar", "ssh"}
LAUNCHERS = {"srun", "mpirun", "mpiexec", "aprun", "alps", "ibrun", "lrun", "prun", "pmi2", "pmix"}
MPIS = {"mpich", "openmpi", "open-mpi", "impi", "intel-oneapi-mpi", "mvapich", "mvapich2"}
NAMES = SCHEDULERS | LAUNCHERS | MPIS | set(shipped_systems())


def named(source):
    """Return the names that occur as words in the strings of Python source, its docstrings apart."""
    tree = ast.parse(source)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
    }
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
    ]
    return {word for text in strings for word in re.findall(r"[a-z0-9_-]+", text.lower())} & NAMES


@pytest.mark.parametrize("path", sorted(CHECKS.rglob("*.py")), ids=lambda path: str(path.relative_to(CHECKS)))
def test_no_check_names_one(path):
    assert named(path.read_text()) == set()


def test_a_name_would_be_found():
    assert named('valid_systems = ["minicluster:pmi2"]') == {"minicluster", "pmi2"}
    assert named('def f(self):\n    """On local."""\n    self.executable_opts = ["--mpi=x"]\n    x = f"srun {y}"') == {
        "srun"
    }
    assert named('valid_prog_environs = ["+mpi", "OpenMPI"]') == {"openmpi"}


def test_all_systems_are_among_the_names():
    assert {"local", "minicluster", "generic_slurm"} <= NAMES
