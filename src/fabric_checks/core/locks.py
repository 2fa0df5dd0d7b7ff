# SPDX-License-Identifier: BSD-3-Clause
"""Locks that only their owner can take, with limited waits and the name of the holder.

Every process that can open a file can hold its lock for ever, so a lock is a file of mode 600 of its own,
never a folder of the system or a file that other users read. The kernel releases it when the last process
that has it open ends; children inherit it, and it holds the name of who took it. Needs the standard library
only: ``ci/setup.py`` locks before anything is installed.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted

#: The longest wait of a writer for another one; they hold a lock for milliseconds.
WRITER_WAIT_S = 60.0
#: The longest wait for another process that builds the same small program.
BUILD_WAIT_S = 600.0
#: The longest wait of a job for that of another session on its host, whose build by Spack may take 3 h.
HOST_WAIT_S = 4 * 3600.0
#: The pause of a waiting process before it tries again.
_PAUSE_S = 0.01
#: A folder that every user can write in and that each host has for itself, so that locks in it are of one
#: host.
OF_THE_HOST = Path("/dev/shm")


class LockedError(FabricError):
    """Another process holds a lock for longer than the wait may last."""


@contextmanager
def exclusive(
    path: Path, wait_s: float, on_wait: Callable[[str], object] = lambda holder: None
) -> Iterator[int]:
    """Hold a lock, and yield its descriptor; a process that inherits that holds it too.

    :param path: its file, which is created; its folder has to exist.
    :param wait_s: the longest wait for another holder; 0 for none.
    :param on_wait: called once with the holder, if there is one to wait for.
    :raises LockedError: with the holder, if it is not released in time.
    :raises OSError: if the file cannot be made, or the file system has no locks.
    """
    descriptor = _taken(path, wait_s, on_wait)
    try:
        _note(descriptor, _this_process())
        yield descriptor
    finally:
        _note(descriptor, "")
        os.close(descriptor)


def _taken(path: Path, wait_s: float, on_wait: Callable[[str], object]) -> int:
    deadline = time.monotonic() + wait_s
    waited = False
    while True:
        # A link of this name could lead to a file of another user.
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been deleted before its lock was taken.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
            os.close(descriptor)
            continue
        except OSError as error:
            os.close(descriptor)
            if not isinstance(error, BlockingIOError | FileNotFoundError):
                raise OSError(error.errno, error.strerror, str(path)) from None
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{path}: locked {f'after {wait_s:.0f} s ' if wait_s else ''}by {holder(path)}"
            )
        if not waited:
            on_wait(holder(path))
            waited = True
        time.sleep(_PAUSE_S)


def _note(descriptor: int, holder: str) -> None:
    """Write the holder into the lock, where those who wait read it, on other hosts and in containers too."""
    # On a full disk there is no note; the work under the lock reports the full disk itself.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)


def holder(path: Path) -> str:
    """Return who took a lock, as it stands there: a process with user, host, time and command."""
    with suppress(OSError):
        note = path.read_text(errors="replace")[:400].rstrip("\n")
        if note.startswith("process ") and note.isprintable():
            return note
    return "a process that has left no name"


def _this_process() -> str:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    who = f"{user(os.geteuid())} on {socket.gethostname()}"
    return f"process {os.getpid()} of {who} since {since}: {quoted(' '.join(sys.argv), 100)}"


def user(number: int) -> str:
    """Return the name of a user, or the number of one without a name."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def host_lock() -> Path:
    """Return the lock that separates this user's measurements on this host; :func:`own_folder` makes its
    folder."""
    return OF_THE_HOST / f"fabric-checks-{os.geteuid()}" / "lock"


def own_folder(folder: Path) -> None:
    """Create a folder that its owner alone can open, or require that it is one.

    :raises FabricError: if it belongs to another user, who can create one of that name where all may write.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        raise FabricError(
            f"{folder} belongs to {user(status.st_uid)} or leads elsewhere, so jobs of your other sessions"
            " on this host may run at the same time and falsify each other's values: have it removed"
        )
    folder.chmod(0o700)


def lock_in_job(path: Path) -> str:
    """Return the shell command that holds a lock until the job ends; the job fails without the lock.

    It goes on with a warning if the folder of the lock is another user's, who must not be able to stop it.
    """
    folder, file = shlex.quote(str(path.parent)), shlex.quote(str(path))
    note = f'"process $$ of $(id -un) on $(uname -n) since $(date -Is): a job" > {file}'
    return (
        f"mkdir -pm 700 {folder} 2> /dev/null; if [ -L {folder} ] || {{ [ -e {folder} ] && [ ! -O {folder} ];"
        " }; then "
        f'echo "warning: "{folder}" is not yours: other jobs of yours may run on this host at the same time"'
        " >&2; "
        f"elif ! {{ exec 9>> {file} && flock -w {HOST_WAIT_S:.0f} 9; }}; then "
        f'echo "error: cannot lock "{file}", or another job held it for too long: $(cat {file})" >&2;'
        " exit 1; "
        f"else echo {note}; fi"
    )
