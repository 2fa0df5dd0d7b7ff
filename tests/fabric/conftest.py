# SPDX-License-Identifier: BSD-3-Clause
"""The programs that this run of the tests has built, and where they are kept."""

import os

import pytest

from tests.fabric import builds


@pytest.fixture(scope="session", autouse=True)
def shared_builds(tmp_path_factory):
    """Share what is built between the modules, and between the processes that run them."""
    base = tmp_path_factory.getbasetemp()
    builds.share(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
