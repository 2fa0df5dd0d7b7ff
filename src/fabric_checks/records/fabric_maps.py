# SPDX-License-Identifier: BSD-3-Clause
"""Keep the maps of large files: tables of a gigabyte take half a minute to read, their map a second."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fabric_checks.core import files, paths
from fabric_checks.fabric_map import topology_files
from fabric_checks.fabric_map.model import FabricMap

#: The size from which on files have their map kept.
FROM_B = 16 * 2**20


def of_files(given: Sequence[Path]) -> FabricMap:
    """Return the map of files as :func:`topology_files.read` does, from where it was kept.

    What is kept is of the same files, by name, size and time, and of the same library; else they are read.
    """
    stats = [path.stat() for path in given if path.is_file()]
    if sum(each.st_size for each in stats) < FROM_B:
        return topology_files.read(given)
    names = [str(path.resolve()) for path in given]
    stamp = json.dumps(
        [names, [[each.st_size, each.st_mtime_ns] for each in stats], _library()]
    )
    place = paths.home() / "maps" / f"{_digest(json.dumps(names))}.npz"
    if (known := _load(place, stamp)) is not None:
        return known
    known = topology_files.read(given)
    try:
        _save(known, place, stamp)
    except OSError as error:
        text = f"the map cannot be kept in {place}, and is read anew each time: {error.strerror}"
        return replace(known, warnings=(*known.warnings, text))
    return known


def _library() -> str:
    """Return what stands for the code that reads maps."""
    return _digest(
        "".join(
            path.read_text()
            for path in sorted(Path(topology_files.__file__).parent.glob("*.py"))
        )
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _save(known: FabricMap, place: Path, stamp: str) -> None:
    arrays = {
        name: value
        for name, value in vars(known).items()
        if isinstance(value, np.ndarray)
    }
    rest = {name: value for name, value in vars(known).items() if name not in arrays}
    with files.replacing(place) as new:
        np.savez(new, stamp=stamp, rest=json.dumps(rest), **arrays)  # type: ignore[arg-type]  # of its options


def _load(place: Path, stamp: str) -> FabricMap | None:
    """Return what was kept; None if nothing was, or of other files."""
    try:
        with np.load(place) as found:
            if str(found["stamp"]) != stamp:
                return None
            rest = json.loads(str(found["rest"]))
            arrays = {
                name: found[name]
                for name in found.files
                if name not in ("stamp", "rest")
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    lists = {
        name: tuple(value) for name, value in rest.items() if isinstance(value, list)
    }
    return FabricMap(**{**rest, **lists, **arrays})
