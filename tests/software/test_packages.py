# SPDX-License-Identifier: BSD-3-Clause
"""Packages beyond ReFrame's own are asked for by name, also where somebody has put them for this collection alone."""

import sys

import pytest

from fabric_checks.software import packages
from fabric_checks.software.packages import MissingPackageError


@pytest.fixture(autouse=True)
def own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_what_is_there():
    packages.require(["json", "re"], "nobody needs them")


def test_what_is_not_there_is_told_with_the_line_that_installs_it(tmp_path):
    with pytest.raises(MissingPackageError) as error:
        packages.require(["json", "no_such_a", "no_such_b"], "Rotate needs them to see")
    place = tmp_path / "home/python" / sys.implementation.cache_tag
    assert str(error.value) == (
        "missing Python packages: no_such_a no_such_b: Rotate needs them to see. To install them for this collection "
        f"alone: {sys.executable} -m pip install --target {place} no_such_a no_such_b"
    )


def test_a_python_without_pip(monkeypatch):
    found = packages.find_spec
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "pip" else found(name))
    with pytest.raises(MissingPackageError, match=f": uv pip install --python {sys.executable} --target "):
        packages.require(["no_such_a"], "x")


def test_what_that_line_installs_is_found_behind_all_else():
    packages.folder().mkdir(parents=True)
    (packages.folder() / "no_such_c.py").touch()
    (packages.folder() / "json.py").write_text("raise AssertionError('the wrong one')")
    packages.require(["no_such_c", "json"], "x")
    assert sys.path[-1] == str(packages.folder())
    packages.require(["no_such_c"], "x")
    assert sys.path.count(str(packages.folder())) == 1


def test_a_home_of_somebody_else(monkeypatch, tmp_path):
    monkeypatch.setattr(packages.os, "access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert packages.folder() == tmp_path / "cache/fabric-checks/python" / str(sys.implementation.cache_tag)
