# SPDX-License-Identifier: BSD-3-Clause
import os

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
    with pytest.raises(ClusterError, match=r"several clusters are up \(a, b\); say which by --name"):
        state.find(None)
    with pytest.raises(ClusterError, match="no cluster called c is up; there are: a, b"):
        state.find("c")
    os.close(first)
    os.close(second)
    assert state.entries() == []


def test_a_name_is_given_once():
    _, _, lock = state.reserve(make(name="a"))
    with pytest.raises(ClusterError, match="a cluster called a is up; end it by `ci/cluster down --name a`"):
        state.reserve(make(name="a"))
    os.close(lock)
    _, _, lock = state.reserve(make(name="a"))  # the holder of the first is gone
    os.close(lock)
    assert state.entries() == []


def test_what_a_killed_keeper_left_is_removed():
    _, folder, lock = state.reserve(make(name="a"))
    (folder / "log").mkdir()
    assert [entry.spec.name for entry in state.entries()] == ["a"]
    os.close(lock)
    assert state.entries() == []
    assert not folder.exists() and not state.INDEX.exists()


def test_an_entry_of_one_who_was_killed_at_once_is_removed():
    with state.index():
        (state.INDEX / "a").touch()
    assert state.entries() == []
    assert not state.INDEX.exists()


def test_an_index_that_is_somebody_elses_is_refused():
    state.INDEX.symlink_to("/tmp")
    with pytest.raises(ClusterError, match="is not a folder of yours"):
        state.reserve(make())


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", ".x", "x" * 41])
def test_names(name):
    with pytest.raises(ClusterError, match="is no name for a cluster"):
        state.check_name(name)
