# SPDX-License-Identifier: BSD-3-Clause
"""The configuration scopes that an environment gets: rendered, found, and read.

A scope is a folder of YAML files, as Spack has them. Spack expands environment variables in its own paths (install
tree, caches, mirrors, repositories), but takes the prefix of an external as it stands, so scopes are rendered first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.errors import quoted
from fabric_checks.spack.errors import SpackError

#: What is expanded: ``${FABRIC_HOME}``. Spack's own variables (``$env``, ``${spack}``) have small letters and stay.
VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")


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
    texts = {file.name: _expand(file, variables) for file in files(scope)}
    destination.mkdir(parents=True, exist_ok=True)
    for stale in destination.glob("*.yaml"):
        if stale.name not in texts:
            stale.unlink()
    for name, text in texts.items():
        (destination / name).write_text(text, encoding="utf-8")
    return destination


def _expand(file: Path, variables: Mapping[str, str]) -> str:
    """Return the text of a file with its variables expanded, comments too."""
    text = _text(file)

    def value(match: re.Match[str]) -> str:
        if match[1] not in variables:
            line = text.count("\n", 0, match.start()) + 1
            raise SpackError(f"{file}:{line}: the environment variable {match[1]} is not set; set it")
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
    try:
        data = yaml.safe_load(_text(file))
    except yaml.YAMLError as error:
        raise SpackError(f"{file}: no YAML: {' '.join(str(error).split())}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SpackError(f"{file}: a {type(data).__name__} where a mapping belongs")
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
    for scope in scopes:
        for file in files(scope):
            packages = load(file).get("packages") or {}
            said = (packages.get(package) or {}).get("require")
            if said is None:
                continue
            one = said[0] if isinstance(said, list) and len(said) == 1 else said
            if not isinstance(one, str):
                raise SpackError(f"{file}: `require` of {package} has to be one text here, such as '@1.2'")
            return one
    return None


def required_version(requirement: str) -> str | None:
    """Return the release in a requirement such as ``@7.5.2 +papi`` or ``mpich@5.0.2``; nothing if it names none."""
    match = re.match(r"[-\w.]*@=?([^\s~+%^=:,]+)(?![:,\w])", requirement)
    return match[1] if match else None
