# SPDX-License-Identifier: BSD-3-Clause
"""As many simulations at once as there are processors: more would only take memory and each other's time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from fabric_checks.core.paths import home

_WAIT_S = 0.05


def count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def slot(folder: Path | None = None, number: int | None = None) -> Iterator[None]:
    """Wait for a free slot and hold it; it is free again when its process ends, however that is.

    :param folder: the files that stand for slots; ``twins/slots`` in the home of the installation if it is not given.
    :param number: of slots; that of the processors if it is not given.
    :raises OSError: if the folder cannot be written.
    """
    folder = folder or home() / "twins" / "slots"
    folder.mkdir(parents=True, exist_ok=True)
    files = [_slot(folder / str(index)) for index in range(number or count())]
    try:
        while not any(_taken(file) for file in files):
            time.sleep(_WAIT_S)
        yield
    finally:
        for file in files:
            file.close()


def _slot(path: Path) -> TextIO:
    """Open the file of a slot, which nobody else can lock."""
    file = path.open("w")
    path.chmod(0o600)
    return file


def _taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
