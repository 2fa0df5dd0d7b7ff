# SPDX-License-Identifier: BSD-3-Clause
"""Read the result of a concretization, and compare the MPI library at run time with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.software.spack.failure import SpackError

#: The format that Spack 1.x writes; in it compilers are packages of their own.
LOCKFILE_VERSION = 6

#: The languages in order of precedence for the compiler of a build.
LANGUAGES = ("c", "cxx", "fortran")


@dataclass(frozen=True)
class Built:
    """The result of a build.

    :param version: its release; :param hash: Spack's, all 32 characters.
    :param spec: the concretized spec with target, compiler and MPI, in a form that `spack find` takes.
    :param mpi: the MPI of the spec, such as ``mpich@5.0.2``; empty if it uses none.
    :param spack: the answer to ``spack --version``.
    """

    version: str
    hash: str
    spec: str
    mpi: str
    spack: str


def read_lock(path: Path, spack: str) -> Built:
    """Return what a ``spack.lock`` makes of its only root.

    :param spack: the answer to ``spack --version``.
    :raises SpackError: if it is of another format.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    version, nodes = data["_meta"]["lockfile-version"], data["concrete_specs"]
    if version != LOCKFILE_VERSION:
        raise SpackError(
            f"{path}: format {version!r}, written by another Spack (1.1 writes {LOCKFILE_VERSION}); name"
            " another one with SPACK_ROOT"
        )
    key = data["roots"][0]["hash"]
    node = nodes[key]
    providers: dict[str, str] = {}
    for edge in node.get("dependencies", []):
        provider = _release(nodes[edge["hash"]])
        providers |= dict.fromkeys(edge["parameters"]["virtuals"], provider)
    # Spack writes a name, or a mapping for microarchitectures that have no generic name.
    target = node["arch"]["target"]
    name = target["name"] if isinstance(target, dict) else target
    # A blank before the hash, else it is part of the value before it; what follows the MPI would be of that.
    spec = f"{_release(node)} target={name} /{key[:7]}"
    compilers = [providers[language] for language in LANGUAGES if language in providers]
    spec += f" %{compilers[0]}" if compilers else ""
    mpi = providers.get("mpi", "")
    return Built(node["version"], key, f"{spec} ^{mpi}" if mpi else spec, mpi, spack)


def _release(node: Mapping[str, Any]) -> str:
    return f"{node['name']}@{node['version']}"


_INTEL = r"Intel\(R\) MPI Library (\d[\w.]*)"

#: The beginning of the output of MPI_Get_library_version, by package in Spack. Others are not compared:
#: HPC-X, for one, has release numbers of its own.
REPORTED = {
    "mpich": r"MPICH Version:\s*(\d[\w.]*)",
    "openmpi": r"Open MPI v(\d[\w.]*)",
    "intel-oneapi-mpi": _INTEL,
    "intel-mpi": _INTEL,
    "mvapich": r"MVAPICH2? Version\s*:\s*(\d[\w.]*)",
    "mvapich2": r"MVAPICH2? Version\s*:\s*(\d[\w.]*)",
    "cray-mpich": r"(?:MPI VERSION\s*:\s*)?CRAY MPICH version (\d[\w.]*)",
    "smpi": r"SMPI Version (\d+(?:\.\d+)*)",
}

#: These do not report the last number of their release.
COARSE = ("intel-oneapi-mpi", "intel-mpi")


def contradiction(spec: str, reported: str) -> str | None:
    """Return a message if the MPI library at run time contradicts a spec, or None.

    Spack reads the release of an external from its scope and does not inspect the library, so an MPI that is
    upgraded in place, below the same prefix, is no longer that of the spec.

    :param spec: the MPI in the lock, such as ``mpich@5.0.2``.
    :param reported: the first line of ``MPI_Get_library_version``.
    """
    name, _, release = spec.partition("@")
    if name not in REPORTED:
        return None
    match = re.match(REPORTED[name], reported.strip())
    if match and (
        covers(release, match[1]) or (name in COARSE and covers(match[1], release))
    ):
        return None
    return (
        f"MPI: the program was built for {spec}, but the library at run time is {quoted(reported.strip())};"
        " write the release and prefix of that library into the MPI's scope (packages.yaml, `externals` and"
        " `require`), or load the MPI that the scope names"
    )


def covers(release: str, found: str) -> bool:
    """Return whether a release is the given one, a patch release of it, or a candidate for it such as
    ``4.1.7a1``."""
    return re.fullmatch(rf"{re.escape(release)}(?:[.\-a-z].*)?", found) is not None
