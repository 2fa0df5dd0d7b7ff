# SPDX-License-Identifier: BSD-3-Clause
import fcntl
import os
import shutil
from pathlib import Path

import pytest

from ci.minicluster import state
from ci.minicluster.errors import ClusterError
from tests.cluster.test_spec import make


@pytest.fixture(autouse=True)
def own_index(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "INDEX", tmp_path / "index")
    monkeypatch.setattr(state.tempfile, "gettempdir", lambda: "/tmp")


def test_a_cluster_is_found_by_its_name_or_as_the_only_one():
    _, folder, first = state.reserve(make(name="a"))
    assert state.find(None).folder == folder
    _, _, second = state.reserve(make(name="b"))
    assert state.find("b").spec == make(name="b")
    with pytest.raises(
        ClusterError, match=r"several clusters are up \(a, b\); choose one with --name"
    ):
        state.find(None)
    with pytest.raises(
        ClusterError, match="no cluster called c is up; there are: a, b"
    ):
        state.find("c")
    os.close(first)
    os.close(second)
    assert state.entries() == []


def test_a_name_is_given_once():
    _, _, lock = state.reserve(make(name="a"))
    with pytest.raises(
        ClusterError,
        match="a cluster called a is up; end it with `ci/cluster down --name a`",
    ):
        state.reserve(make(name="a"))
    os.close(lock)
    _, _, lock = state.reserve(make(name="a"))  # the holder of the first is gone
    os.close(lock)
    assert state.entries() == []


def test_what_a_killed_keeper_left_is_removed():
    """And the entry of one who was killed before it wrote anything."""
    _, folder, lock = state.reserve(make(name="a"))
    (folder / "log").mkdir()
    assert [entry.spec.name for entry in state.entries()] == ["a"]
    os.close(lock)
    (state.INDEX / "b").touch()
    assert state.entries() == []
    assert not folder.exists() and not state.INDEX.exists()


def test_an_index_that_somebody_holds_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(state, "PATIENCE", 0.2)
    state.INDEX.mkdir(mode=0o700)
    holder = os.open(state.INDEX, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(
        ClusterError,
        match=rf"index has been held for more than 0.2 s by process {os.getpid()}; end that",
    ):
        state.reserve(make())
    os.close(holder)


def test_an_index_that_another_removes_meanwhile_is_made_again(monkeypatch):
    """Who holds the index last removes it: between the making and the opening of it here, and before it is
    locked."""
    lstat, flock = state.Path.lstat, fcntl.flock
    left = [True, True]

    def removed_first(path):
        if left[0]:
            left[0] = False
            state.INDEX.rmdir()
        return lstat(path)

    def removed_before(*arguments):
        if left[1]:
            left[1] = False
            state.INDEX.rmdir()
        return flock(*arguments)

    monkeypatch.setattr(state.Path, "lstat", removed_first)
    monkeypatch.setattr(fcntl, "flock", removed_before)
    with state.index() as index:
        assert index.is_dir()
    assert left == [False, False]


def test_a_folder_into_which_the_dying_write_is_removed_in_the_end(monkeypatch):
    _, folder, lock = state.reserve(make(name="a"))
    rmtree, full = shutil.rmtree, [True]

    def fills_again(place):
        if full.pop():
            full.append(False)
            raise OSError(39, "Directory not empty", str(place))
        rmtree(place)

    monkeypatch.setattr(state.shutil, "rmtree", fills_again)
    os.close(lock)
    assert state.entries() == []
    assert not folder.exists()


def test_a_folder_that_cannot_be_removed_is_named(monkeypatch):
    _, folder, lock = state.reserve(make(name="a"))
    monkeypatch.setattr(state, "GRACE", 0.2)

    def fails(place):
        raise OSError(16, "Device or resource busy", f"{place}/db")

    rmtree = shutil.rmtree
    monkeypatch.setattr(state.shutil, "rmtree", fails)
    os.close(lock)
    with pytest.raises(
        ClusterError,
        match=f"but {folder}/db of it cannot be removed: Device or resource busy; remove",
    ):
        state.entries()
    rmtree(folder)


@pytest.mark.parametrize(
    "make_index",
    [lambda: state.INDEX.symlink_to("/tmp"), lambda: state.INDEX.touch()],
    ids=["link", "file"],
)
def test_an_index_that_is_no_folder_is_refused(make_index):
    make_index()
    with pytest.raises(ClusterError, match="is not a folder of yours"):
        state.entries()


def test_an_index_of_another_user_is_named_with_its_owner(monkeypatch):
    state.INDEX.mkdir()
    owner = state.INDEX.owner()
    monkeypatch.setattr(state.os, "geteuid", lambda: 54321)
    with pytest.raises(
        ClusterError,
        match=rf"not a folder of yours \(it belongs to user {owner}\); have them or root remove it",
    ):
        state.entries()


def test_what_another_user_has_put_in_place_of_a_folder_is_left_to_them(
    monkeypatch, capsys
):
    _, folder, lock = state.reserve(make(name="a"))
    os.close(lock)
    real = os.lstat

    def lstat(path):
        found = list(real(path))
        # From Python 3.14 on the index is asked for by this function, too.
        if Path(path) == folder:
            found[4] = 54321  # its user
        return os.stat_result(found)

    with monkeypatch.context() as patch:
        patch.setattr(state.os, "lstat", lstat)
        assert state.entries() == []
    assert folder.exists() and not state.INDEX.exists()
    assert (
        f"{folder} belongs to user 54321 and is not the folder of a"
        in capsys.readouterr().err
    )
    folder.rmdir()


@pytest.mark.parametrize("name", ["", "../x", "-x", "x" * 41])
def test_names(name):
    with pytest.raises(ClusterError, match="is not a name for a cluster"):
        state.check_name(name)
