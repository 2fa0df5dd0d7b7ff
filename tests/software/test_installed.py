# SPDX-License-Identifier: BSD-3-Clause
"""Where the parts of a clone's pins are: the same for clones with the same pins, and beside each other for others."""

import sys

import pytest

from fabric_checks.software import installed


@pytest.fixture(autouse=True)
def afresh(monkeypatch, tmp_path):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    installed.fingerprint.cache_clear()
    yield
    installed.fingerprint.cache_clear()


def names():
    installed.fingerprint.cache_clear()
    return {name: installed.folder(name).name for name in installed.PINS}


def test_the_place_of_the_clone_makes_no_difference_and_its_pins_do(monkeypatch, tmp_path):
    here = names()
    (tmp_path / "ci/requirements").mkdir(parents=True)
    for path in (installed.ROOT / "ci/requirements").glob("*.txt"):
        (tmp_path / "ci/requirements" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(installed, "ROOT", tmp_path)
    assert names() == here
    with (tmp_path / "ci/requirements/clingo.txt").open("a") as file:
        file.write("# another\n")
    assert {name for name, folder in names().items() if folder != here[name]} == {"core", "test"}


def test_another_python_has_its_own(monkeypatch):
    here = names()
    monkeypatch.setattr(sys, "version", "3.99.0")
    assert not set(names().values()) & set(here.values())


def test_another_spack_has_its_own(monkeypatch):
    here = names()
    monkeypatch.setattr(installed, "SPACK", installed.Release("x", "v1.1.0", "0" * 40))
    assert {name for name, folder in names().items() if folder != here[name]} == {"spack"}


def test_the_environment_with_the_test_tools_serves_runs_too():
    assert installed.venv() == installed.folder("core")
    installed.folder("test").mkdir(parents=True)
    assert installed.venv() == installed.folder("core") and not installed.is_complete("test")
    (installed.folder("test") / installed.STAMP).touch()
    assert installed.venv() == installed.folder("test")
    assert installed.folder("test").name in installed.in_use()
    assert installed.folder("core").name not in installed.in_use()
