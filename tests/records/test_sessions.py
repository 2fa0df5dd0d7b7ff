# SPDX-License-Identifier: BSD-3-Clause
"""The version of the collection that a record names."""

import subprocess

import pytest

from fabric_checks.core import git as clone
from fabric_checks.records import sessions


@pytest.mark.parametrize(
    "name, is_changed",
    [
        (None, False),
        ("config/systems/oak.py", False),
        ("offer.tar", False),
        ("checks/more.py", True),
        ("README.md", True),
    ],
)
def test_only_what_changes_a_run_changes_the_version(
    tmp_path, monkeypatch, name, is_changed
):
    (tmp_path / "config/systems").mkdir(parents=True)
    (tmp_path / "checks").mkdir()
    for each in ("README.md", "config/systems/local.py", "checks/osu.py"):
        (tmp_path / each).write_text("as committed")
    git = [
        "git",
        "-C",
        str(tmp_path),
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
    ]
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*git, *arguments], check=True)
    monkeypatch.setattr(clone, "ROOT", tmp_path)
    if name:
        (tmp_path / name).write_text("new")
    assert sessions.collection_version.__wrapped__().endswith(".dirty") == is_changed
