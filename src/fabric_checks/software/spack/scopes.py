# SPDX-License-Identifier: BSD-3-Clause
"""The configuration scopes that an environment gets: rendered, found, and read.

A scope is a folder of YAML files, as Spack has them. Spack expands environment variables in its own paths (install
tree, caches, mirrors, repositories), but takes the prefix of an external as it stands, so scopes are rendered first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core.errors import quoted
from fabric_checks.software.spack.errors import SpackError

#: What is expanded: ``${FABRIC_HOME}``. Spack's own variables (``$env``, ``${spack}``) have small letters and stay.
VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")

#: The pure Python loader takes ten times as long.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Scopes:
    """The three scopes that every environment of `spack-envs` includes, the strongest first.

    :param environ: what an MPI needs; one folder for each MPI.
    :param site: what the site has: compilers, targets, mirrors, install tree.
    :param common: what is pinned for all.
    """

    environ: Path
    site: Path
    common: Path

    def variables(self) -> dict[str, str]:
        """Return the environment variables by which `spack.yaml` finds them."""
        return {
            "FABRIC_SPACK_ENVIRON": str(self.environ),
            "FABRIC_SPACK_SITE": str(self.site),
            "FABRIC_SPACK_COMMON": str(self.common),
        }

    def rendered(self, folder: Path, variables: Mapping[str, str]) -> Scopes:
        """Copy the three into a folder with their variables expanded; see :func:`render`."""
        return Scopes(
            render(self.environ, folder / "environ", variables),
            render(self.site, folder / "site", variables),
            render(self.common, folder / "common", variables),
        )


def files(scope: Path) -> list[Path]:
    """Return the YAML files of a scope in the order of their names; a scope may be a single file.

    :raises SpackError: if there is no such scope, or it is empty: Spack would ignore that without a word.
    """
    found = [scope] if scope.is_file() else sorted(scope.glob("*.yaml"))
    if not found:
        what = "has no .yaml file" if scope.is_dir() else "does not exist"
        raise SpackError(f"{scope}: this Spack scope {what}; create it, or correct its path in the system's config")
    return found


def render(scope: Path, destination: Path, variables: Mapping[str, str]) -> Path:
    """Copy a scope and expand the variables in it; return the destination, which is made, or replaced file by file.

    :param variables: usually ``os.environ``.
    :raises SpackError: if the scope is missing, or names a variable that is not set.
    """
    texts = {file.name: expand(_text(file), variables, file) for file in files(scope)}
    destination.mkdir(parents=True, exist_ok=True)
    for stale in destination.glob("*.yaml"):
        if stale.name not in texts:
            stale.unlink()
    for name, text in texts.items():
        (destination / name).write_text(text, encoding="utf-8")
    return destination


def expand(text: str, variables: Mapping[str, str], place: Path) -> str:
    """Return a text with its variables expanded, in comments too.

    :param place: the file that it is from, for the message.
    :raises SpackError: if it names a variable that is not set.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in variables:
            line = text.count("\n", 0, match.start()) + 1
            raise SpackError(f"{place}:{line}: the environment variable {match[1]} is not set; set it")
        return variables[match[1]]

    return VARIABLE.sub(value, text)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpackError(f"{file}: cannot be read: {error}") from None


def load(file: Path) -> dict[str, Any]:
    """Return what a configuration file says; an empty one says nothing.

    :raises SpackError: if it cannot be read, is no YAML, or is no mapping.
    """
    return _parse(file, file.stat().st_mtime_ns if file.exists() else 0)


@lru_cache(maxsize=256)
def _parse(file: Path, _changed_ns: int) -> dict[str, Any]:
    """Parse a file once for each of its states: every question about every package reads all scopes."""
    try:
        data = yaml.load(_text(file), Loader=LOADER)
    except yaml.YAMLError as error:
        raise SpackError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SpackError(f"{file}: a {type(data).__name__} where a mapping is expected")
    return data


def included(environment: Path, variables: Mapping[str, str]) -> list[Path]:
    """Return the scopes that an environment includes, and those that these include, the strongest first.

    :param environment: the folder with ``spack.yaml``.
    :param variables: those that ``path_override_env_var`` looks in, usually ``os.environ``.
    :raises SpackError: if one is missing, even an optional one: Spack would ignore its wrong path without a word.
    """
    file = environment / "spack.yaml"
    found: list[Path] = []
    _follow(load(file).get("spack", {}), environment, variables, found)
    return found


def _follow(section: dict[str, Any], base: Path, variables: Mapping[str, str], found: list[Path]) -> None:
    """Add what one `include` section names; a scope is stronger than what it includes itself."""
    for entry in section.get("include", []):
        given = {"path": entry} if isinstance(entry, str) else entry
        name = given.get("path_override_env_var", "")
        if "path" not in given:
            raise SpackError(f"{base}: include {quoted(str(entry))} has no path; only paths can be followed")
        # Spack has variables of its own, which only it can expand; ours are rendered before.
        scope = base / Path(variables.get(name, given["path"]))
        if scope in found:
            continue
        found.append(scope)
        for file in files(scope):
            inner = load(file)
            _follow(inner.get("spack", inner), scope if scope.is_dir() else scope.parent, variables, found)


def requirement(scopes: list[Path], package: str) -> str | None:
    """Return what the strongest scope requires of a package, as text; nothing if none does.

    :param scopes: the strongest first, as from :func:`included`.
    :param package: the name of a package, or a virtual one such as ``mpi``.
    :raises SpackError: if the strongest says it in a form other than one text or a list of one.
    """
    said, file = setting(scopes, package, "require")
    if said is None:
        return None
    one = said[0] if isinstance(said, list) and len(said) == 1 else said
    if not isinstance(one, str):
        raise SpackError(f"{file}: `require` of {package} must be a single string here, such as '@1.2'")
    return one


def setting(scopes: list[Path], package: str, key: str) -> tuple[Any, Path | None]:
    """Return what the strongest scope says under ``packages: PACKAGE: KEY:`` and its file; None twice if none does."""
    for scope in scopes:
        for file in files(scope):
            section = (load(file).get("packages") or {}).get(package) or {}
            if section.get(key) is not None:
                return section[key], file
    return None, None


def required_version(requirement: str) -> str | None:
    """Return the release in a requirement such as ``@7.5.2 +papi`` or ``mpich@5.0.2``; nothing if it names none."""
    match = re.match(r"[-\w.]*@=?([^\s~+%^=:,]+)(?![:,\w])", requirement)
    return match[1] if match else None
