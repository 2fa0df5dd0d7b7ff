# SPDX-License-Identifier: BSD-3-Clause
"""The difference is what the program `patch` takes."""

import subprocess

from tests.references.test_files import BEFORE, apply


def test_the_difference_is_a_patch(tmp_path):
    path = tmp_path / "yours.yaml"
    path.write_text(BEFORE)
    outcome = apply(path)
    assert not outcome.written and path.read_text() == BEFORE
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "yours.yaml").write_text(BEFORE)
    subprocess.run(["patch", "-p1"], cwd=tmp_path, input=outcome.difference, text=True, check=True, capture_output=True)
    assert apply(path, write=True).written
    assert (tmp_path / "references" / "yours.yaml").read_text() == path.read_text() != BEFORE
