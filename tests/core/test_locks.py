# SPDX-License-Identifier: BSD-3-Clause
"""Locks that only their owner can take, limited waits, and the name of the holder."""

import fcntl
import os
import subprocess
import sys

import pytest

from fabric_checks.core import locks
from fabric_checks.core.errors import FabricError
from tests import programs
from tests.guard import GUARD_S

HOLD = """
import sys
from pathlib import Path
from fabric_checks.core import locks
with locks.exclusive(Path(sys.argv[1]), 0):
    print("held", flush=True)
    sys.stdin.read()
"""


class Holder:
    """Another process that holds a lock until it is released."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "held\n"

    def release(self):
        self.process.stdin.close()
        assert self.process.wait(GUARD_S) == 0


@pytest.fixture
def held(tmp_path):
    holder = Holder(tmp_path / "lock")
    with holder.process:
        yield tmp_path / "lock", holder
        holder.process.kill()


def test_a_refused_lock_names_its_holder(held):
    path, holder = held
    who = rf"process {holder.process.pid} of \w+ on \S+ since 20\S+: '-c"
    with (
        pytest.raises(locks.LockedError, match=rf"^{path}: locked by {who}"),
        locks.exclusive(path, 0),
    ):
        pytest.fail("both have it")
    with (
        pytest.raises(locks.LockedError, match=rf"^{path}: locked after 1 s by {who}"),
        locks.exclusive(path, 0.6),
    ):
        pytest.fail("both have it")


def test_a_wait_names_the_holder_once_and_ends_with_it(held):
    path, holder = held
    holders = []

    def on_wait(who):
        holders.append(who)
        holder.release()

    with locks.exclusive(path, 600, on_wait):
        (who,) = holders
        assert f"process {holder.process.pid} " in who
    with locks.exclusive(path, 600, holders.append):
        assert len(holders) == 1


def test_only_the_owner_can_open_a_lock(tmp_path):
    path = tmp_path / "lock"
    path.touch(mode=0o644)
    with locks.exclusive(path, 0):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"), locks.exclusive(tmp_path / "lock", 0):
        pytest.fail("a file elsewhere was locked")
    assert not (tmp_path / "elsewhere").exists()


def test_a_deleted_file_is_no_lock(tmp_path):
    """A process that waits for it takes the new one."""
    path = tmp_path / "lock"
    path.touch()
    old = os.open(path, os.O_RDWR)
    fcntl.flock(old, fcntl.LOCK_EX)

    def delete(_):
        path.unlink()
        os.close(old)

    with locks.exclusive(path, 600, delete) as descriptor:
        assert os.path.samestat(os.fstat(descriptor), path.stat())


def test_a_child_that_inherits_the_lock_holds_it(tmp_path):
    path = tmp_path / "lock"
    with locks.exclusive(path, 0) as descriptor:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[descriptor])
    with pytest.raises(locks.LockedError), locks.exclusive(path, 0):
        pytest.fail("both have it")
    child.communicate()
    with locks.exclusive(path, 0):
        pass


def test_the_folder_of_a_lock_belongs_to_its_user(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o777)
    locks.own_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(
        FabricError,
        match="link belongs to .* or leads elsewhere, so jobs .*: have it removed",
    ):
        locks.own_folder(tmp_path / "link")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(FabricError, match=r"mine belongs to \w+ or leads elsewhere"):
        locks.own_folder(folder)


def test_another_user_who_takes_the_name_of_the_folder_stops_no_job(tmp_path):
    taken, home = tmp_path / "taken", tmp_path / "home"
    home.mkdir()
    taken.symlink_to(
        home
    )  # as foreign as a folder of another user, which only root can make
    command = f"{locks.lock_in_job(taken / 'lock')}\necho ran"
    done = programs.run(["bash", "-c", command])
    assert done.stdout == "ran\n" and list(home.iterdir()) == []
    assert (
        done.stderr
        == f"warning: {taken} is not yours: other jobs of yours may run on this host at the same time\n"
    )


def test_a_job_holds_the_lock_until_it_ends(tmp_path):
    path = tmp_path / "folder/lock"
    command = f"{locks.lock_in_job(path)}\necho held; read _; echo done"
    job = subprocess.Popen(
        ["bash", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout.readline() == "held\n"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with (
        pytest.raises(locks.LockedError, match=f"process {job.pid} "),
        locks.exclusive(path, 0),
    ):
        pytest.fail("both have it")
    assert job.communicate("\n")[0] == "done\n"
    with locks.exclusive(path, 0):
        pass


def test_a_job_without_the_lock_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HOST_WAIT_S", 0)
    path = tmp_path / "folder/lock"
    path.parent.mkdir()
    with locks.exclusive(path, 0):
        done = programs.run(["bash", "-c", f"{locks.lock_in_job(path)}\necho ran"])
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(
        f"error: cannot lock {path}, or another job held it for too long"
    )
