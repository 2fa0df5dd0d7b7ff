# SPDX-License-Identifier: BSD-3-Clause
"""Which files a set of results is, and of which kind; what a file has in it tells, not what it is called."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError
from fabric_checks.records import archive
from fabric_checks.records.faults import Faults


@dataclass
class Files:
    """The files of a set of results, each kind in the order of their names."""

    json_lines: list[Path] = field(default_factory=list)
    parquet: list[Path] = field(default_factory=list)
    databases: list[Path] = field(default_factory=list)


def files_of(path: Path, faults: Faults) -> Files:
    """Find the files of a set of results.

    Links are followed within the folder only: what somebody sends must not show files of who reads it.

    :param path: a folder of results, of perflogs, or an archive; or one file.
    :param faults: gets what cannot be read.
    :raises RecordError: if nothing is there.
    """
    found = Files()
    if not path.is_dir():
        _sort_in(path, None, found, faults)
        return found
    logs = False
    folder = path / "perflogs" if (path / "perflogs").is_dir() else path
    if _is_outside(folder, path, faults):
        return found
    for parent, folders, names in os.walk(folder, onerror=lambda error: _note(error, faults)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if Path(parent, name).is_symlink():
                _is_outside(Path(parent, name), path, faults)
        for name in sorted({*names} - archive.superseded(names)):
            if name.endswith((".jsonl", ".parquet")) and not name.startswith("."):
                _sort_in(Path(parent, name), path, found, faults)
            logs |= name.endswith(".log")
    if not (found.json_lines or found.parquet or found.databases) and not list(faults.lines()):
        hint = "; its .log files are ReFrame's own perflogs, which are not read" if logs else ""
        raise RecordError(
            f"{path}: no results here: no file *.jsonl or *.parquet in it or below it{hint}; start a run with ci/run, "
            "or name a folder of results, a file of JSON lines, an archive, or ReFrame's database"
        )
    return found


def _note(error: OSError, faults: Faults) -> None:
    faults.add(error.filename, 0, f"{error.strerror}; it and its contents are left out")


def _is_outside(folder: Path, within: Path, faults: Faults) -> bool:
    """Tell whether a folder is a link out of another one, and note it."""
    try:
        files.require_within(folder, within)
    except OSError as error:
        _note(error, faults)
        return True
    return False


def _sort_in(path: Path, within: Path | None, found: Files, faults: Faults) -> None:
    """Put a file to those of its kind, as its first bytes tell."""
    try:
        with files.opened(path, within) as file:
            first = file.read(16)
    except files.UnfitError as error:
        faults.add(path, 0, f"{error.strerror}; it is left out")
        return
    except OSError as error:
        _note(error, faults)
        return
    if first == b"SQLite format 3\0":
        found.databases.append(path)
    elif first.startswith(b"PAR1") or path.suffix == ".parquet":
        found.parquet.append(path)
    else:
        found.json_lines.append(path)
