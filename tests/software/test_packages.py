# SPDX-License-Identifier: BSD-3-Clause
"""Packages beyond ReFrame's own are required by name, also from a folder of this collection."""

import sys

import pytest

from fabric_checks.software import packages
from fabric_checks.software.packages import MissingPackageError


@pytest.fixture(autouse=True)
def own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_installed_packages_are_accepted():
    packages.require(["json", "re"], "nobody needs them")


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path):
    with pytest.raises(MissingPackageError) as error:
        packages.require(["json", "no_such_a", "no_such_b"], "Rotate needs them to see")
    folder = tmp_path / "home/python" / sys.implementation.cache_tag
    assert (
        str(error.value)
        == "missing Python packages: no_such_a no_such_b: Rotate needs them to see. To install them for this"
        f" collection alone: {sys.executable} -m pip install --target {folder} no_such_a no_such_b"
    )


def test_the_folder_of_packages_comes_last_on_the_path():
    packages.folder().mkdir(parents=True)
    (packages.folder() / "no_such_c.py").touch()
    (packages.folder() / "json.py").write_text("raise AssertionError('the wrong one')")
    packages.require(["no_such_c", "json"], "x")
    assert sys.path[-1] == str(packages.folder())
    packages.require(["no_such_c"], "x")
    assert sys.path.count(str(packages.folder())) == 1
