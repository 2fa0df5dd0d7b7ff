# SPDX-License-Identifier: BSD-3-Clause
"""The configuration scopes of an environment, and their requirements on a package.

A scope is a folder of Spack's YAML files. Spack expands environment variables in its own paths (install tree,
caches, mirrors, repositories), but not in the prefix of an external, so scopes are rendered first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from fabric_checks.core import yaml_file
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.suite import Package

#: ``${FABRIC_HOME}`` is expanded. Spack's own variables (``$env``, ``${spack}``) have small letters and stay.
VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")


@dataclass(frozen=True)
class Scopes:
    """The three scopes that every environment of `spack-envs` includes, in order of precedence.

    :param environ: the settings of an MPI; one folder for each MPI.
    :param site: the settings of the site: compilers, targets, mirrors, install tree.
    :param common: the pinned versions.
    """

    environ: Path
    site: Path
    common: Path

    def variables(self) -> dict[str, str]:
        """Return the environment variables by which `spack.yaml` finds the scopes."""
        return {
            f"FABRIC_SPACK_{name.upper()}": str(folder)
            for name, folder in self.folders().items()
        }

    def folders(self) -> dict[str, Path]:
        """Return the folders of the three by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def rendered(self, folder: Path, variables: Mapping[str, str]) -> Scopes:
        """Copy the three into a folder with their variables expanded; see :func:`render`."""
        return Scopes(
            **{
                name: render(scope, folder / name, variables)
                for name, scope in self.folders().items()
            }
        )

    def setting(self, package: str, key: str) -> tuple[Any, Path | None]:
        """Return the strongest value of ``packages: PACKAGE: KEY:`` and its file; None twice if there is
        none.

        :raises SpackError: if a scope is missing, which Spack would ignore, or includes another one.
        """
        for file, packages in self._packages:
            value = (packages.get(package) or {}).get(key)
            if value is not None:
                return value, file
        return None, None

    @cached_property
    def _packages(self) -> list[tuple[Path, dict[str, Any]]]:
        """Return the files and their section ``packages``, the strongest first; every package asks for
        them."""
        found = []
        for file in (
            file for scope in self.folders().values() for file in files(scope)
        ):
            content = load(file)
            if "include" in content:
                raise SpackError(
                    f"{file}: `include` is not supported here; put the included files into the scope"
                )
            found.append((file, content.get("packages") or {}))
        return found

    def requirement(self, package: str) -> str | None:
        """Return the strongest requirement on a package, or a virtual one such as ``mpi``; None if there is
        none.

        :raises SpackError: if it has a form other than one text or a list of one.
        """
        value, file = self.setting(package, "require")
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(one, str | None):
            raise SpackError(
                f"{file}: `require` of {package} must be a single string here, such as '@1.2'"
            )
        return one

    def asked(self, package: Package) -> tuple[str, str]:
        """Return the requirement on a package, and the release in it.

        :raises SpackError: if the scopes leave release or MPI open.
        """
        requirement = self.requirement(package.name) or ""
        _, version = parse_requirement(requirement)
        if version is None:
            raise SpackError(
                f"{self.common}: no scope requires a release of {package.name}; write `packages:"
                f" {package.name}: require: '@RELEASE'`"
            )
        if self.requirement("mpi") is None:
            raise SpackError(
                f"{self.environ}: requires no MPI, so Spack would choose one; write `packages: mpi: require:"
                " [NAME]`"
            )
        return requirement, version

    def why_not(self, package: Package) -> str | None:
        """Return why a site excludes a package (``buildable: false`` and no external), or None if it does
        not."""
        buildable, file = self.setting(package.name, "buildable")
        externals, _ = self.setting(package.name, "externals")
        return (
            f"{file} sets `buildable: false` for {package.name}"
            if buildable is False and not externals
            else None
        )


def files(scope: Path) -> list[Path]:
    """Return the YAML files of a scope in the order of their names.

    :raises SpackError: if there is no such folder, or it is empty, which Spack would ignore silently.
    """
    found = sorted(scope.glob("*.yaml"))
    if not found:
        fault = "has no .yaml file" if scope.is_dir() else "does not exist"
        raise SpackError(
            f"{scope}: this Spack scope {fault}; create it, or correct its path in the system's config"
        )
    return found


def render(scope: Path, destination: Path, variables: Mapping[str, str]) -> Path:
    """Copy a scope and expand the variables in it; return the destination, which is made, or replaced file by
    file.

    :param variables: usually ``os.environ``.
    :raises SpackError: if the scope is missing, or names a variable that is not set.
    """
    texts = {
        file.name: expand(file.read_text(encoding="utf-8"), variables, file)
        for file in files(scope)
    }
    destination.mkdir(parents=True, exist_ok=True)
    for stale in destination.glob("*.yaml"):
        stale.unlink()
    for name, text in texts.items():
        (destination / name).write_text(text, encoding="utf-8")
    return destination


def expand(text: str, variables: Mapping[str, str], file: Path) -> str:
    """Return a text with its variables expanded, in comments too.

    :param file: the origin of the text, for the message.
    :raises SpackError: if it names a variable that is not set.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in variables:
            line = text.count("\n", 0, match.start()) + 1
            raise SpackError(
                f"{file}:{line}: the environment variable {match[1]} is not set; set it"
            )
        return variables[match[1]]

    return VARIABLE.sub(value, text)


def load(file: Path) -> dict[str, Any]:
    """Return the content of a configuration file; an empty one has none.

    :raises SpackError: if it cannot be read, is no YAML, or is no mapping.
    """
    return _parse(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _parse(file: Path, _changed_ns: int) -> dict[str, Any]:
    """Parse a file once for each of its states: every question about every package reads all scopes."""
    try:
        data = yaml_file.load(file)
    except yaml_file.YamlError as error:
        raise SpackError(str(error)) from None
    if not isinstance(data, dict | None):
        raise SpackError(f"{file}: a {type(data).__name__} where a mapping is expected")
    return data or {}


def parse_requirement(requirement: str) -> tuple[str, str | None]:
    """Return name and release of a requirement; the release is None if none is named, or a range.

    >>> parse_requirement("mpich@5.0.2 +slurm"), parse_requirement("@7.5.2 +papi")
    (('mpich', '5.0.2'), ('', '7.5.2'))
    >>> parse_requirement("gcc@12:")
    ('gcc', None)
    """
    name = re.match(r"[-\w]*", requirement)
    release = re.match(r"[-\w.]*@=?([^\s~+%^=:,]+)(?![:,\w])", requirement)
    return name[0] if name else "", release[1] if release else None
