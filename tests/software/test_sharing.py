# SPDX-License-Identifier: BSD-3-Clause
"""Parts that are deleted in a home, and parts that a clone or a running session keeps."""

import fcntl
import json
import os

import pytest

from fabric_checks.software import installed, sharing


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "parts").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def a_clone(tmp_path, monkeypatch):
    """Return a function that makes this the library of another clone."""

    def be(name):
        (tmp_path / name / "ci").mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "ci" / "setup.py").touch()
        monkeypatch.setattr(sharing, "ROOT", tmp_path / name)

    return be


def install(home, *names):
    for name in names:
        (home / "parts" / name).mkdir()
        (home / "parts" / name / installed.STAMP).touch()
        (home / "parts" / name / "file").touch()
    return list(names)


def left(home):
    return sorted(path.name for path in (home / "parts").iterdir())


def collect():
    lines = []
    sharing.collect(lines.append)
    return lines


def test_the_parts_of_a_clone_are_kept(home, a_clone):
    a_clone("one")
    sharing.register(install(home, "core-1", "mpich-1"))
    a_clone("two")
    sharing.register([*install(home, "core-2"), "mpich-1"])
    assert not sharing.has_leftovers() and collect() == []
    sharing.register([*install(home, "core-3"), "mpich-1"])
    assert sharing.has_leftovers()
    assert collect() == ["core-2 is deleted: no clone that uses this home needs it any longer"]
    assert left(home) == ["core-1", "core-3", "mpich-1"] and not sharing.has_leftovers()


@pytest.mark.parametrize("change", [{"clone": "/nowhere"}, {"python": "/nowhere"}])
def test_the_parts_of_a_deleted_clone_or_python_are_deleted(home, a_clone, change):
    a_clone("one")
    sharing.register(install(home, "core-1"))
    (note,) = (home / "clones").iterdir()
    note.write_text(json.dumps(json.loads(note.read_text()) | change))
    a_clone("two")
    sharing.register(install(home, "core-2"))
    collect()
    assert left(home) == ["core-2"]


def test_a_running_session_keeps_its_parts_and_is_named(home, a_clone):
    a_clone("one")
    held = sharing.register(install(home, "core-1", "mpich-1"))
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        sharing.register(install(home, "core-2"))
        (line,) = collect()
        assert line.startswith(f"older parts are kept for process {os.getpid()} of ")
        assert left(home) == ["core-1", "core-2", "mpich-1"]
    collect()
    assert left(home) == ["core-2"] and not held.exists()


def test_an_unchanged_set_keeps_its_locks_and_only_its_owner_can_lock_it(home, a_clone):
    a_clone("one")
    before = sharing.register(["core-1"]).stat()
    assert before.st_mode & 0o777 == 0o600 and os.path.samestat(before, sharing.register(["core-1"]).stat())


def test_a_link_to_a_part_of_another_home_is_not_followed(home, a_clone, tmp_path):
    part = tmp_path / "elsewhere"
    part.mkdir()
    (part / installed.STAMP).touch()
    (home / "parts" / "core-9").symlink_to(part)
    a_clone("one")
    sharing.register([])
    assert not sharing.has_leftovers() and collect() == []
    assert (part / installed.STAMP).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"set": 1}', "\x00"])
def test_a_broken_note_is_of_no_clone(home, a_clone, text):
    a_clone("one")
    sharing.register(install(home, "core-1"))
    (home / "clones" / "broken").write_text(text)
    assert collect() == [] and left(home) == ["core-1"]


def test_a_part_that_is_half_deleted_is_not_complete(home, a_clone, monkeypatch):
    a_clone("one")
    sharing.register(install(home, "core-1"))
    sharing.register([])

    def killed(path, **_):
        assert path.exists() and not (path / installed.STAMP).exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(sharing.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        collect()
