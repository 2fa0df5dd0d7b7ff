# SPDX-License-Identifier: BSD-3-Clause
"""Git is asked about the clone."""

import subprocess

import pytest

from fabric_checks.core import git as clone
from fabric_checks.core.errors import FabricError
from fabric_checks.core.git import git


@pytest.fixture
def folder(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(clone, "ROOT", tmp_path)
    return tmp_path


def test_the_output_of_a_command_is_returned(folder):
    (folder / "new").touch()
    assert git("status", "--porcelain") == "?? new\n"
    assert len(git("hash-object", "--stdin", stdin=b"\xff").strip()) == 40


def test_an_error_is_one_line_with_the_folder_and_the_command(folder):
    with pytest.raises(FabricError, match=f"^{folder}: git rev-parse: .") as found:
        git("rev-parse", "--verify", "nonsense")
    assert len(str(found.value).splitlines()) == 1


def test_without_git_it_is_asked_for(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(FabricError, match="git is missing, .*; install it"):
        git("status")
