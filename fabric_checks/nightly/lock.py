# SPDX-License-Identifier: BSD-3-Clause
"""One night of a system at a time."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.errors import FabricError, quoted


class BusyError(FabricError):
    """Another night of the system is running."""


@contextmanager
def only_one(path: Path) -> Iterator[int]:
    """Hold the lock of a system while its night runs, and yield its descriptor.

    The lock is the kernel's: it ends with the last process that has the descriptor, however that ends. The run of a
    night inherits it, so that a run whose night was killed is not joined by another.

    :raises BusyError: if somebody else has it.
    :raises FabricError: if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise FabricError(f"{path}: {error.strerror}: no night can be run without its lock; mend that") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{path}: {_holder(descriptor)}; nothing was run") from None
        _note(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _note(descriptor: int) -> None:
    began = datetime.now(timezone.utc).isoformat(timespec="seconds")
    note = json.dumps({"process": os.getpid(), "host": socket.gethostname(), "began": began})
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)
    except OSError:
        pass  # a full disk: the note only says who has the lock, and what follows says what is wrong


def _holder(descriptor: int) -> str:
    text = os.pread(descriptor, 4096, 0).decode(errors="replace")
    try:
        note = json.loads(text)
        who = f"process {int(note['process'])} on {quoted(str(note['host']))} since {quoted(str(note['began']))}"
    except (ValueError, KeyError, TypeError):
        who = "a process that could not leave its name"
    return f"another night of this system runs, or the run of one that was killed: {who}"
