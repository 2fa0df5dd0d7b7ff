# SPDX-License-Identifier: BSD-3-Clause
"""Tell whether anything that a build depends on has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def fingerprint(parts: Iterable[bytes]) -> str:
    """Return a SHA-256, in hexadecimal, of parts that are kept apart."""
    digest = hashlib.sha256()
    for part in parts:
        # The length before each part: the same bytes, divided otherwise, are another input.
        digest.update(f"{len(part)}:".encode() + part)
    return digest.hexdigest()


def contents(folder: Path) -> list[bytes]:
    """Return name and text of every file below a folder, in order, without what Python and Git keep for themselves."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not {"__pycache__", ".git"} & set(name.parts):
            found += [str(name).encode(), path.read_bytes()]
    return found
