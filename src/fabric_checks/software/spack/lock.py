# SPDX-License-Identifier: BSD-3-Clause
"""Compare the result of a concretization with the requirements, and the MPI library at run time with that
result.

Spack accepts an existing lock unchanged: a requirement that changed since is silently ignored, and the old
MPI is reported as installed. So the facts of a build are read from the resulting ``spack.lock``, never from
its input.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.scopes import Asked, parse_requirement, same_release

#: The format that Spack 1.x writes; in it compilers are packages of their own.
LOCKFILE_VERSION = 6

#: The languages in order of precedence for the compiler of a build.
LANGUAGES = ("c", "cxx", "fortran")

#: The parameters that are flags of the compiler.
FLAGS = ("cflags", "cxxflags", "fflags", "cppflags", "ldflags", "ldlibs")


@dataclass(frozen=True)
class Package:
    """One concrete package: name, release, all 32 characters of Spack's hash, microarchitecture, and
    variants.

    :param variants: as Spack writes them, such as ``+mpi~lib fft=kiss``.
    """

    name: str
    version: str
    hash: str
    target: str
    variants: str = ""

    def __str__(self) -> str:
        """Return name and release, as Spack writes them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class Concrete:
    """A concretized package.

    :param package: the package itself.
    :param compiler: the compiler of its C code (C++ or Fortran, if it has no C), if it has any.
    :param mpi: the provider of MPI, if it uses MPI.
    """

    package: Package
    compiler: Package | None
    mpi: Package | None

    def __str__(self) -> str:
        """Return the spec with the first seven characters of its hash, in a form that `spack find` takes."""
        package, variants = self.package, self.package.variants
        separator = "" if variants.startswith(("+", "~")) or not variants else " "
        # A blank before the hash, else it is part of the value before it; what follows the MPI would be of
        # the MPI.
        spec = f"{package}{separator}{variants} target={package.target} /{package.hash[:7]}"
        spec += f" %{self.compiler}" if self.compiler else ""
        return f"{spec} ^{self.mpi}" if self.mpi else spec


def read_lock(path: Path) -> Concrete:
    """Return the concretized package of a ``spack.lock``, its only root.

    :raises SpackError: if it is of another format.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    version, nodes = data["_meta"]["lockfile-version"], data["concrete_specs"]
    if version != LOCKFILE_VERSION:
        raise SpackError(
            f"{path}: format {version!r}, written by another Spack (1.1 writes {LOCKFILE_VERSION}); name"
            " another one with SPACK_ROOT"
        )
    (root,) = data["roots"]
    providers: dict[str, Package] = {}
    for edge in nodes[root["hash"]].get("dependencies", []):
        providers |= dict.fromkeys(
            edge["parameters"]["virtuals"], _package(nodes, edge["hash"])
        )
    compiler = next(
        (providers[language] for language in LANGUAGES if language in providers), None
    )
    return Concrete(_package(nodes, root["hash"]), compiler, providers.get("mpi"))


def _package(nodes: dict[str, Any], key: str) -> Package:
    node = nodes[key]
    # Spack writes a name, or a mapping for microarchitectures that have no generic name.
    target = node["arch"]["target"]
    name = target["name"] if isinstance(target, dict) else target
    return Package(
        node["name"], node["version"], key, name, _variants(node.get("parameters", {}))
    )


def _variants(values: dict[str, Any]) -> str:
    """Return a configuration: first the switches, then what has values; compiler flags only if set."""
    switches, others = "", []
    for name, value in sorted(values.items()):
        if isinstance(value, bool):
            switches += f"{'+' if value else '~'}{name}"
        elif value not in ([], "", None):
            words = list(map(str, value if isinstance(value, list) else [value]))
            flags, text = f"{name}='{' '.join(words)}'", f"{name}={','.join(words)}"
            others.append(flags if name in FLAGS else text)
    return " ".join([switches, *others]).strip()


def require(path: Path, asked: Asked) -> Concrete:
    """Return the concretized package of a lock, if it meets the requirements.

    :param path: the ``spack.lock``.
    :param asked: release 7.5 is met by 7.5.2, as Spack's ``@7.5`` is; of the requirements on MPI and compiler
        the name and an exact release count.
    :raises SpackError: with each requirement and its result.
    """
    found = read_lock(path)
    wrong = [
        f"{role} was asked for, but the result is {result or 'none'}"
        for role, requirement, result in (
            (
                f"release {asked.version}",
                f"{found.package.name}@{asked.version}",
                found.package,
            ),
            (f"MPI {asked.mpi}", asked.mpi, found.mpi),
            (f"compiler {asked.compiler}", asked.compiler, found.compiler),
        )
        if requirement is not None and not _meets(result, requirement)
    ]
    if wrong:
        raise SpackError(
            f"{path}: {'; '.join(wrong)}; delete it and concretize again, and make sure that the scopes ask"
            " for it with `require`"
        )
    return found


def _meets(found: Package | None, requirement: str) -> bool:
    name, version = parse_requirement(requirement)
    return (
        found is not None
        and found.name == name
        and (version is None or same_release(found.version, version))
    )


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
        _covers(release, match[1]) or (name in COARSE and _covers(match[1], release))
    ):
        return None
    return (
        f"MPI: the program was built for {spec}, but the library at run time is {quoted(reported.strip())};"
        " write the release and prefix of that library into the MPI's scope (packages.yaml, `externals` and"
        " `require`), or load the MPI that the scope names"
    )


def _covers(release: str, found: str) -> bool:
    """Return whether a release is the given one, a patch release of it, or a candidate for it such as
    ``4.1.7a1``."""
    return re.fullmatch(rf"{re.escape(release)}(?:[.\-a-z].*)?", found) is not None
