# SPDX-License-Identifier: BSD-3-Clause
"""Read a ``spack.lock``, and hold what was concretized to what was asked for.

Spack takes an existing lock as it is: a requirement that changed since is ignored without a word, and the old MPI is
reported as installed. So what a build used is read from the lock that came out, never from what went in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.scopes import required_version

#: The format that Spack 1.x writes; in it compilers are packages of their own.
LOCKFILE_VERSION = 6

#: The languages whose compiler counts as that of the build, the first that the package uses.
LANGUAGES = ("c", "cxx", "fortran")

#: The parameters that are flags of the compiler.
FLAGS = ("cflags", "cxxflags", "fflags", "cppflags", "ldflags", "ldlibs")


@dataclass(frozen=True)
class Package:
    """One concrete package.

    :param name: its name in the package repository.
    :param version: its release.
    :param hash: the 32 characters that Spack identifies it by.
    :param target: the microarchitecture that it was compiled for, such as ``x86_64_v3``.
    :param prefix: where it is if it is external, else nothing.
    :param variants: how it was configured, as Spack writes it, such as ``+mpi~lib fft=kiss``.
    """

    name: str
    version: str
    hash: str
    target: str
    prefix: str | None
    variants: str = ""

    def __str__(self) -> str:
        """Return name and version, as Spack writes them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class Concrete:
    """What a package was built as.

    :param package: the package itself.
    :param compiler: the compiler of its C code (C++ or Fortran, if it has no C), if it has any.
    :param mpi: the provider of MPI, if it uses MPI.
    :param spack: the release of the Spack that wrote the lock.
    """

    package: Package
    compiler: Package | None
    mpi: Package | None
    spack: str

    def __str__(self) -> str:
        """Return the spec with the first seven characters of its hash, in a form that `spack find` takes."""
        variants = self.package.variants
        separator = "" if variants.startswith(("+", "~")) or not variants else " "
        # A blank before the hash, else it is part of the value before it; what follows the MPI would be of the MPI.
        words = [f"{self.package}{separator}{variants}", f"target={self.package.target}", f"/{self.package.hash[:7]}"]
        words += [f"%{self.compiler}"] if self.compiler else []
        words += [f"^{self.mpi}"] if self.mpi else []
        return " ".join(words)


@dataclass(frozen=True)
class Lock:
    """A lock file that was read: its nodes by hash, its roots, and where it was read."""

    place: str
    spack: str
    roots: tuple[str, ...]
    nodes: dict[str, dict[str, Any]]

    def concrete(self, name: str) -> Concrete:
        """Return what the root ``name`` was concretized to.

        :raises SpackError: if it is no root of the lock, or is one more than once.
        """
        found = [key for key in self.roots if self.nodes[key]["name"] == name]
        if len(found) != 1:
            roots = ", ".join(self.nodes[key]["name"] for key in self.roots) or "nothing"
            fault = "is not in it" if not found else "is in it more than once"
            raise SpackError(f"{self.place}: {name} {fault}, which holds {roots}; give it an environment of its own")
        node = self.nodes[found[0]]
        compilers = [self._provider(node, language) for language in LANGUAGES]
        compiler = next((each for each in compilers if each), None)
        return Concrete(self._package(found[0]), compiler, self._provider(node, "mpi"), self.spack)

    def _provider(self, node: dict[str, Any], virtual: str) -> Package | None:
        """Return the dependency that provides a virtual package to a node."""
        for edge in node.get("dependencies", []):
            if virtual in edge["parameters"]["virtuals"]:
                return self._package(edge["hash"])
        return None

    def _package(self, key: str) -> Package:
        node = self.nodes[key]
        prefix = node.get("external", {}).get("path")
        return Package(node["name"], node["version"], key, _target(node), prefix, _variants(node))


def _variants(node: dict[str, Any]) -> str:
    """Return how a node was configured: what is on, what is off, then what has values; compiler flags only if set."""
    values = node.get("parameters", {})
    switches = [f"{'+' if value else '~'}{name}" for name, value in sorted(values.items()) if isinstance(value, bool)]
    others = [
        _assignment(name, value)
        for name, value in sorted(values.items())
        if not isinstance(value, bool) and value not in ([], "", None)
    ]
    return " ".join(["".join(switches), *others]).strip()


def _assignment(name: str, value: object) -> str:
    """Return a variant with a value, or flags, as Spack writes them."""
    if isinstance(value, list):
        words = [str(word) for word in value]
        return f"{name}='{' '.join(words)}'" if name in FLAGS else f"{name}={','.join(words)}"
    return f"{name}={value}"


def _target(node: dict[str, Any]) -> str:
    """Return a node's target; Spack writes a name, or a mapping for microarchitectures that have no generic name."""
    target = node["arch"]["target"]
    return str(target["name"] if isinstance(target, dict) else target)


def read_lock(path: Path) -> Lock:
    """Read a lock file.

    :raises SpackError: if it is missing, is not whole, or is of another format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpackError(f"{path}: there is no such lock, so Spack concretized nothing; see its output") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpackError(f"{path}: cannot be read ({error}); delete it and concretize again") from None
    return parse_lock(text, str(path))


def parse_lock(text: str, place: str = "spack.lock") -> Lock:
    """Take the text of a lock file apart.

    :param place: what messages call it.
    :raises SpackError: if it is not whole or is of another format.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpackError(f"{place}:{error.lineno}: incomplete ({error.msg}); delete it and concretize again") from None
    try:
        found = data["_meta"]["lockfile-version"]
        if found != LOCKFILE_VERSION:
            raise SpackError(
                f"{place}: format {found!r}, written by another Spack (1.1 writes "
                f"{LOCKFILE_VERSION}); delete it and concretize again"
            )
        lock = Lock(
            place, data["spack"]["version"], tuple(root["hash"] for root in data["roots"]), data["concrete_specs"]
        )
        for message in _flaws(lock):
            raise SpackError(f"{place}: {message}; delete it and concretize again")
    except (KeyError, TypeError, AttributeError) as error:
        raise SpackError(
            f"{place}: not a Spack lock ({type(error).__name__} {quoted(str(error))}); delete it and concretize again"
        ) from None
    return lock


def _flaws(lock: Lock) -> Iterator[str]:
    """Name what is missing in a lock; a node without a field ends in a KeyError."""
    for root in lock.roots:
        if root not in lock.nodes:
            yield f"its root {quoted(root)} is missing"
    for key, node in lock.nodes.items():
        for field in (node["name"], node["version"], _target(node)):
            if not isinstance(field, str):
                yield f"{quoted(key)} has {field!r} where a name or a version is expected"
        for edge in node.get("dependencies", []):
            if not isinstance(edge["parameters"]["virtuals"], list):
                yield f"{quoted(key)} does not say what it uses {quoted(str(edge['name']))} for"
            if edge["hash"] not in lock.nodes:
                yield f"{node['name']} depends on {edge['name']}, which is missing"


def require(
    lock: Lock, *, package: str, version: str | None = None, mpi: str | None = None, compiler: str | None = None
) -> Concrete:
    """Return what a package was concretized to, if it is what was asked for.

    :param package: its name.
    :param version: the release asked for; 7.5 is met by 7.5.2, as Spack's ``@7.5`` is.
    :param mpi: the MPI asked for: ``NAME``, ``NAME@VERSION``, or a whole requirement such as ``mpich@5.0.2 +slurm``.
    :param compiler: the compiler asked for, likewise.
    :raises SpackError: that names what was asked and what came out.
    """
    found = lock.concrete(package)
    wrong = []
    if version is not None and not same_release(found.package.version, version):
        wrong.append(f"{package}@{version} was asked for, but the result is {found.package}")
    for what, asked, got in (("MPI", mpi, found.mpi), ("compiler", compiler, found.compiler)):
        if asked is not None and not _is(got, asked):
            wrong.append(f"{what} {asked} was asked for, but the result is {got or 'none'}")
    if wrong:
        raise SpackError(
            f"{lock.place}: {'; '.join(wrong)}; delete spack.lock and concretize again, and make sure that the scopes "
            "ask for it with `require`"
        )
    return found


def _is(found: Package | None, asked: str) -> bool:
    """Tell whether a package is the one asked for; of a requirement only its name and an exact release count."""
    name = re.match(r"[-\w]*", asked)
    version = required_version(asked)
    if found is None or name is None or found.name != name[0]:
        return False
    return version is None or same_release(found.version, version)


def same_release(found: str, asked: str) -> bool:
    """Tell whether a release is the one asked for, or one of its patch releases."""
    asked = asked.removeprefix("=")
    return found == asked or re.match(re.escape(asked) + r"[.-]", found) is not None
