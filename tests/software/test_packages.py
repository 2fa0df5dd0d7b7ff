# SPDX-License-Identifier: BSD-3-Clause
"""What a check needs of Python beyond ReFrame is asked for, and found in a folder of the home as well."""

import sys

import pytest

from fabric_checks.software import packages


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_what_is_not_there_is_named_with_why_and_the_line_that_installs_it(home):
    with pytest.raises(packages.MissingPackageError) as raised:
        packages.require(["json", "no_such_package_a", "no_such_package_b"], "Rotate needs them for x")
    said = str(raised.value)
    assert said.startswith("Python packages that are not there: no_such_package_a no_such_package_b: Rotate needs them")
    assert said.endswith(f" --target {packages.folder()} no_such_package_a no_such_package_b")


def test_what_was_installed_into_the_home_is_found_behind_all_else(home):
    packages.folder().mkdir(parents=True)
    (packages.folder() / "no_such_package_c.py").write_text("")
    (packages.folder() / "json.py").write_text("raise ImportError('not this one')")
    packages.require(["no_such_package_c", "json"], "it is needed")
    assert sys.path[-1] == str(packages.folder())


def test_a_home_of_somebody_else_is_not_written_to(home, monkeypatch):
    monkeypatch.setattr(packages.os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    assert packages.folder().parents[1] == home / "cache/fabric-checks"
