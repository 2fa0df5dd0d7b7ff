# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: golden outputs, and a ReFrame runtime of a machine of known size."""

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"


@pytest.fixture(scope="session")
def golden():
    """Return a function that reads a golden output."""
    return lambda name: (GOLDEN / name).read_text()


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Keep what tests write apart from the results of real runs."""
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
    monkeypatch.delenv("FABRIC_SESSION", raising=False)
    monkeypatch.delenv("FABRIC_MPI", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    os.environ.pop("RFM_CONFIG_FILES", None)
