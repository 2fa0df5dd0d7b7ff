# SPDX-License-Identifier: BSD-3-Clause
"""The library that profiles is built, or the reason is one line."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_profile import building as profiler


def test_no_such_compiler_wrapper(tmp_path):
    with pytest.raises(
        FabricError, match="there is no no-such-mpicc.*name the compiler wrapper .* with --mpicc"
    ) as caught:
        profiler.build("no-such-mpicc", tmp_path)
    assert "\n" not in str(caught.value)


def test_a_wrapper_that_builds_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(FabricError, match="false: the profiling library cannot be built"):
        profiler.build("false", tmp_path / "folder")
