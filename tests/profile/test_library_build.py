# SPDX-License-Identifier: BSD-3-Clause
"""The library that profiles is built, or the reason is one line."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_profile import library_build as profiler


@pytest.mark.parametrize(
    "mpicc, cause",
    [
        ("no-such-mpicc", "there is no no-such-mpicc"),
        ("false", "false: the profiling library cannot be built"),
    ],
)
def test_a_wrapper_that_builds_nothing_is_named(tmp_path, monkeypatch, mpicc, cause):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        FabricError, match=f"{cause}.*name the compiler wrapper .* with --mpicc"
    ) as caught:
        profiler.build(mpicc, tmp_path / "folder")
    assert "\n" not in str(caught.value)
