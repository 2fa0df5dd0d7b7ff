# SPDX-License-Identifier: BSD-3-Clause
"""Files are written all or none, and none replaces another."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding import installation


def test_names_that_are_there_are_not_taken_again():
    # The clone may be a site's own, with its systems: a name that none of them has.
    assert installation.is_free("nowhere-at-all")
    assert not any(
        map(
            installation.is_free,
            ("local", "generic_slurm", "cbc", "twins", "minicluster"),
        )
    )


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path):
    files = {
        "systems/new/spack/site/a.yaml": "a",
        "references/new.yaml": "b",
        "systems/new.py": "c",
    }
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/new.py").write_text("mine")
    with pytest.raises(
        FabricError,
        match="new.py: already exists and is left unchanged; nothing was written",
    ):
        installation.write(files, tmp_path)
    assert {
        path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()
    } == {tmp_path / "systems/new.py": "mine"}
    (tmp_path / "systems/new.py").unlink()
    assert [path.read_text() for path in installation.write(files, tmp_path)] == [
        "a",
        "b",
        "c",
    ]
