# SPDX-License-Identifier: BSD-3-Clause
"""Share a home between clones: register the parts that each uses, and delete parts that are no longer used.

    clones/KEY   a clone, its Python, and its current set of parts
    sets/NAME    a set of parts, one per line; a session that runs on them holds a shared lock of this file

A part is kept as long as it is in the set of an existing clone, or in one whose lock is held. Needs the standard
library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from fabric_checks.core import files, locks
from fabric_checks.core.paths import ROOT, home
from fabric_checks.software.installed import STAMP


def set_of(parts: Iterable[str]) -> Path:
    """Return the file of a set of parts."""
    digest = hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:12]
    return home() / "sets" / digest


def is_registered(parts: Iterable[str]) -> bool:
    """Return whether this is already the set of this clone on this Python."""
    path = set_of(parts)
    return path.is_file() and _clone_of(_own_note()).get("set") == path.name


def register(parts: Iterable[str]) -> Path:
    """Make this the set of this clone, and return its file. The caller holds the lock of the home."""
    path = set_of(parts)
    _write(path, "".join(f"{name}\n" for name in sorted(parts)))
    _write(_own_note(), json.dumps({"clone": str(ROOT), "python": sys.base_prefix, "set": path.name}))
    return path


def _own_note() -> Path:
    key = f"{ROOT}\n{sys.base_prefix}\n{sys.version_info[:2]}"
    return home() / "clones" / hashlib.sha256(key.encode()).hexdigest()[:12]


def _clone_of(note: Path) -> dict[str, str]:
    """Return the note of a clone; empty if it is missing or malformed."""
    try:
        return {key: str(value) for key, value in json.loads(note.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can open, and so lock; one with the same text is kept, with its locks."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with files.replacing(path, mode=0o600) as new:
        new.write_text(text)


def has_leftovers() -> bool:
    """Return whether :func:`collect` may find something to delete."""
    wanted = _of_clones()
    sets = {path.name for path in _listed("sets")}
    parts = {path.name for path in _listed("parts") if not path.is_symlink()}
    return bool(sets - wanted) or bool(parts - _parts_of(wanted))


def collect(progress: Callable[[str], object]) -> None:
    """Delete the parts that are in no clone's set and in no locked set. The caller holds the lock of the home.

    :param progress: called with a line for each set that is still in use, and for each deleted part.
    """
    wanted = _of_clones()
    for path in _listed("sets"):
        if path.name not in wanted and (holder := _users(path)):
            wanted.add(path.name)
            progress(f"older parts are kept for {holder}")
    kept = _parts_of(wanted)
    for part in _listed("parts"):
        # A link points to a part of another home.
        if part.name not in kept and not part.is_symlink():
            progress(f"{part.name} is deleted: no clone that uses this home needs it any longer")
            # In this order an interrupt leaves no part that seems complete.
            (part / STAMP).unlink(missing_ok=True)
            shutil.rmtree(part, ignore_errors=True)


def _users(path: Path) -> str | None:
    """Return the holder of the lock of a set; delete the set and return None if there is none."""
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return locks.holder(path)
        # A process that opened it before finds it deleted, and sets up anew.
        path.unlink()
    return None


def _of_clones() -> set[str]:
    """Return the names of the sets of all clones that exist, with Pythons that exist."""
    found = set()
    for note in _listed("clones"):
        clone = _clone_of(note)
        exists = Path(clone.get("clone", ""), "ci", "setup.py").is_file() and Path(clone.get("python", "")).is_dir()
        if exists and "set" in clone:
            found.add(clone["set"])
    return found


def _parts_of(sets: Iterable[str]) -> set[str]:
    paths = [home() / "sets" / name for name in sets]
    return {part for path in paths if path.is_file() for part in path.read_text().split()}


def _listed(name: str) -> list[Path]:
    # Without the temporary files of an interrupted set-up.
    return sorted((home() / name).glob("[!.]*"))
