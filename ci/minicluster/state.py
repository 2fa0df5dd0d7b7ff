# SPDX-License-Identifier: BSD-3-Clause
"""Which clusters there are: an index with one entry a cluster, and one folder for all that a cluster writes.

A cluster's keeper holds a lock on its entry. So an entry without a lock is what is left of a keeper that was
killed, and every command removes those first; no process number is ever trusted that might be another's by
now.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import ClusterError
from .processes import GRACE, PATIENCE
from .spec import Spec, from_dict

# Not below TMPDIR, which may differ from one command to the next.
INDEX = Path("/tmp") / f"fabric-clusters-{os.geteuid()}"

# A UNIX socket's path may have 107 characters; the longest name in the folder is that of a job step's daemon.
LONGEST_FOLDER = 70


@dataclass(frozen=True)
class Entry:
    """A cluster that is up, or on its way up or down."""

    spec: Spec
    folder: Path
    keeper: int  # 0 until there is one
    pid_namespace: str  # the one that the keeper's number is of
    started: float


@contextmanager
def index() -> Iterator[Path]:
    """Hold the index; it exists within, and is gone afterwards when no cluster is in it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = _open_index()
        if descriptor is None:
            continue
        try:
            _lock(descriptor, deadline)
            if not _is_index(descriptor):
                continue
            try:
                yield INDEX
            finally:
                if not any(INDEX.iterdir()):
                    INDEX.rmdir()
            return
        finally:
            os.close(descriptor)


def _open_index() -> int | None:
    """Return the index's descriptor, or None when another command has removed it since, as empty."""
    with suppress(FileExistsError):  # exist_ok would fail if it were removed just then
        INDEX.mkdir(mode=0o700)
    try:
        status = INDEX.lstat()
        if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
            raise ClusterError(
                f"{INDEX} is not a folder of yours (it belongs to user {_user(status.st_uid)}); have them or"
                " root remove it: your clusters are recorded there"
            )
        return os.open(INDEX, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                holders = (
                    ", ".join(_holders(descriptor))
                    or "a process that is not visible here"
                )
                raise ClusterError(
                    f"{INDEX} has been held for more than {PATIENCE:g} s by {holders}; end that and try again"
                ) from None
            time.sleep(0.01)
        else:
            return


def _holders(descriptor: int) -> list[str]:
    """Return who holds a lock on a file, by proc(5)'s list of locks, whose sixth field ends with the
    inode."""
    inode = str(os.fstat(descriptor).st_ino)
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return [
        f"process {row[4]}"
        for row in rows
        if row[1] == "FLOCK" and row[5].rpartition(":")[2] == inode
    ]


def _is_index(descriptor: int) -> bool:
    """Whether the index is still the one that was opened; who held it before may have removed it as empty."""
    try:
        return INDEX.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", name):
        raise ClusterError(
            f"{name!r} is not a name for a cluster; use letters, digits, dots and dashes, 40 at most"
        )
    return name


def is_locked(path: Path) -> bool:
    """Whether a keeper lives that holds the entry."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def sweep() -> list[str]:
    """Remove what killed keepers left, and return the names of their clusters. The index is held."""
    dead = [path for path in INDEX.iterdir() if not is_locked(path)]
    for path in dead:
        remove(path)
    return [path.name for path in dead]


def remove(path: Path) -> None:
    """Remove a cluster's folder and then its entry. The index is held.

    A folder of another user at its path, as after temporary files were cleared, is left alone.
    """
    folder = _read(path).get("folder")
    if folder is not None and os.path.lexists(folder):
        status = os.lstat(folder)
        if status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode):
            _remove_folder(Path(folder))
        else:
            whose = _user(status.st_uid)
            print(
                f"warning: {folder} belongs to user {whose} and is not the folder of {path.name}; it is left"
                " alone",
                file=sys.stderr,
            )
    path.unlink()


def _remove_folder(folder: Path) -> None:
    """Remove a folder into which processes that have been killed with their keeper may still write."""
    deadline = time.monotonic() + GRACE
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"a cluster has ended, but {error.filename} of it cannot be removed: {error.strerror}; "
                    f"remove {folder}"
                ) from None
            time.sleep(0.05)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _read(path: Path) -> dict:
    text = path.read_text()
    return (
        json.loads(text) if text else {}
    )  # nothing is in it when its maker was killed at once


def write(path: Path, spec: Spec, folder: Path, **more: object) -> None:
    """Overwrite an entry: the lock is on the file, so it cannot be replaced by another."""
    text = json.dumps({"spec": spec.as_dict(), "folder": str(folder)} | more)
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def reserve(spec: Spec) -> tuple[Path, Path, int]:
    """Make the entry and the folder of a new cluster; return both and the descriptor that holds the lock."""
    with index():
        sweep()
        path = INDEX / spec.name
        if path.exists():
            raise ClusterError(
                f"a cluster called {spec.name} is up; end it with `ci/cluster down --name {spec.name}`, "
                "or give the new one another --name"
            )
        temporary = Path(tempfile.gettempdir())
        if len(str(temporary)) > LONGEST_FOLDER - len("/fabric-cluster-12345678"):
            raise ClusterError(
                f"the path {temporary} is too long for the sockets in it; set TMPDIR to a shorter one"
            )
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            folder = Path(
                tempfile.mkdtemp(prefix="fabric-cluster-", dir=temporary)
            ).resolve()
            write(path, spec, folder)
        except BaseException:
            path.unlink()
            raise
        return path, folder, descriptor


def entries() -> list[Entry]:
    """Return the clusters that are there, after what killed ones left is removed."""
    if not INDEX.exists():
        return []
    with index():
        sweep()
        return [_entry(path) for path in sorted(INDEX.iterdir())]


def _entry(path: Path) -> Entry:
    values = _read(path)
    return Entry(
        spec=from_dict(values["spec"]),
        folder=Path(values["folder"]),
        keeper=values.get("keeper", 0),
        pid_namespace=values.get("pid_namespace", ""),
        started=values.get("started", 0.0),
    )


def find(name: str | None) -> Entry:
    """Return the cluster of that name, or the only one."""
    there = entries()
    if name is None and len(there) == 1:
        return there[0]
    names = ", ".join(entry.spec.name for entry in there)
    if not there:
        what = "no cluster is up" if name is None else f"no cluster called {name} is up"
        raise ClusterError(f"{what}; start one with `ci/cluster up --nodes N`")
    if name is None:
        raise ClusterError(f"several clusters are up ({names}); choose one with --name")
    for entry in there:
        if entry.spec.name == name:
            return entry
    raise ClusterError(f"no cluster called {name} is up; there are: {names}")
