# SPDX-License-Identifier: BSD-3-Clause
"""The programs that this run of the tests has built: where they are kept, and the one that a module is about."""

import os

import pytest

from tests.fabric import builds
from tests.fabric.one_program import OneProgram


@pytest.fixture(scope="session", autouse=True)
def shared_builds(tmp_path_factory):
    """Share what is built between the modules, and between the processes that run them."""
    base = tmp_path_factory.getbasetemp()
    builds.share(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="module", params=builds.MPIS)
def program(request, tmp_path_factory):
    """Return the program that the module names in PROGRAM, built by each MPI."""
    return OneProgram(request.param, request.module.PROGRAM, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def quick(request, tmp_path_factory):
    """Return it as one MPI builds it, for what no MPI changes."""
    return OneProgram("mpich", request.module.PROGRAM, tmp_path_factory.mktemp("quick"))
