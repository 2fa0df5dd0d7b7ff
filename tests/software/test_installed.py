# SPDX-License-Identifier: BSD-3-Clause
"""The folders of parts: shared by clones with the same pins, separate for other pins."""

import json
import sys

import pytest

from fabric_checks.software import installed


@pytest.fixture(autouse=True)
def afresh(monkeypatch, tmp_path):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    installed.fingerprint.cache_clear()
    installed._set_up_by.cache_clear()
    yield
    installed.fingerprint.cache_clear()


def names(python=installed.THIS):
    installed.fingerprint.cache_clear()
    return {name: installed.folder(name, python).name for name in installed.PINS}


def test_folders_depend_on_the_pins_and_not_on_the_clone(monkeypatch, tmp_path):
    here = names()
    (tmp_path / "ci/requirements").mkdir(parents=True)
    for path in (installed.ROOT / "ci/requirements").glob("*.txt"):
        (tmp_path / "ci/requirements" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(installed, "ROOT", tmp_path)
    assert names() == here
    with (tmp_path / "ci/requirements/clingo.txt").open("a") as file:
        file.write("# another\n")
    assert {name for name, folder in names().items() if folder != here[name]} == {
        "core",
        "test",
    }


ANOTHER = ("3.99.0", sys.base_prefix)


def test_another_python_has_its_own_parts():
    assert not set(names(ANOTHER).values()) & set(names().values())


def complete(name, python, text):
    folder = installed.folder(name, python)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").touch()
    (folder / installed.STAMP).write_text(text)
    return folder


def test_a_run_uses_the_parts_that_another_python_has_set_up():
    assert installed.found("mpich") == installed.folder("mpich")
    assert str(installed.interpreter()) == sys.executable
    installed._set_up_by.cache_clear()
    core = complete("core", ANOTHER, json.dumps(ANOTHER))
    complete("mpich", ANOTHER, json.dumps(ANOTHER))
    assert installed.found("mpich") == installed.folder(
        "mpich", ANOTHER
    ) and installed.is_found("mpich")
    assert installed.interpreter() == core / "bin/python" and not installed.is_found(
        "impi"
    )
    # Its own parts come first; a set-up is always for the Python that runs it.
    installed._set_up_by.cache_clear()
    complete("core", installed.THIS, json.dumps(installed.THIS))
    assert installed.found("mpich") == installed.folder(
        "mpich"
    ) and not installed.is_found("mpich")
    assert not installed.is_complete("mpich")


@pytest.mark.parametrize("text", ["", "null", '["a"]', '["3.98", "/elsewhere"]'])
def test_a_stamp_without_its_python_is_ignored(text):
    complete("core", ANOTHER, text)
    assert installed.found("core") == installed.folder("core")


def test_the_environment_with_the_test_tools_serves_runs_too():
    assert installed.venv() == installed.folder("core")
    installed.folder("test").mkdir(parents=True)
    assert installed.venv() == installed.folder("core") and not installed.is_complete(
        "test"
    )
    (installed.folder("test") / installed.STAMP).touch()
    assert installed.venv() == installed.folder("test")


def test_parts_of_other_pins_are_named_but_no_links_to_other_homes(tmp_path):
    for name in ("core", "mpich"):
        installed.folder(name).mkdir(parents=True)
    parts = installed.folder("core").parent
    (parts / "core-0123456789ab").mkdir()
    (parts / "impi-0123456789ab").symlink_to(tmp_path)
    assert installed.of_others() == [parts / "core-0123456789ab"]


@pytest.mark.parametrize(
    "text, shown",
    [
        ("from https://t0ken@host/x.git: no", "from https://***@host/x.git: no"),
        ("'git+https://me:p@ss@host:8443/x'", "'git+https://***@host:8443/x'"),
        ("https://host/x?private_token=t0ken&ref=1", "https://host/x?***"),
        (
            "git@host:x https://host/a@b file:///a@b",
            "git@host:x https://host/a@b file:///a@b",
        ),
        ("https://a/x and https://u@b/y", "https://a/x and https://***@b/y"),
        ("at https://h/a?token=b#c, https://h/a@b", "at https://h/a?*** https://h/a@b"),
    ],
)
def test_credentials_in_addresses_are_replaced(text, shown):
    assert installed.redacted(text) == shown
