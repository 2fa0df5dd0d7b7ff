# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame environments from Spack scopes; the scope of an MPI is sufficient to define one.

A system's scopes are in ``config/systems/SYSTEM/spack``: the folder ``site``, and one folder for each MPI.
The MPI's ``packages.yaml`` requires it and names it as an external, by prefix or by modules;
``env_vars.yaml``, in Spack's own format, has the variables that its programs need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.core.paths import ROOT
from fabric_checks.software import programs, stacks
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.lock import covers
from fabric_checks.software.spack.scopes import (
    Scopes,
    expand,
    files,
    load,
    parse_requirement,
)
from fabric_checks.software.spack.tool import scope_defaults
from fabric_checks.software.suite import Program
from fabric_checks.software.suites import SUITES

COMMON = ROOT / "spack-envs" / "common"
SITE = "site"


def scopes_of(
    spack: Path, variables: Mapping[str, str], mpis: Iterable[str] = ()
) -> dict[str, Scopes]:
    """Return the scopes of some MPIs of a system by their names; of all if none is named.

    :param spack: the system's folder ``spack``.
    :param variables: FABRIC_SPACK_SITE among them names a site scope to use in place of the system's.
    :raises SpackError: if the system has no scopes, no site scope, or no scope of that name.
    """
    if not spack.is_dir():
        raise SpackError(
            f"{spack}: this system has no Spack scopes; copy those of config/systems/local/spack"
        )
    site = Path(variables.get("FABRIC_SPACK_SITE") or spack / SITE)
    files(site)
    folders = {path.name: path for path in sorted(spack.iterdir()) if path.is_dir()}
    folders.pop(SITE, None)
    found = {name: Scopes(folder, site, COMMON) for name, folder in folders.items()}
    try:
        return {mpi: found[mpi] for mpi in mpis or found}
    except KeyError as error:
        raise SpackError(
            f"{spack}: no scope {quoted(error.args[0])}; choose from {', '.join(found) or 'nothing'}"
        ) from None


def environments(
    spack: Path, systems: Sequence[str], variables: Mapping[str, str] = os.environ
) -> list[dict[str, Any]]:
    """Return an environment ``MPI-spack`` for each MPI of some systems.

    :raises SpackError: if a scope is wrong.
    """
    return [
        _environment(mpi, systems, scopes, variables)
        for mpi, scopes in scopes_of(spack, variables).items()
    ]


def _environment(
    mpi: str, systems: Sequence[str], scopes: Scopes, variables: Mapping[str, str]
) -> dict[str, Any]:
    name, external = _external(scopes)
    wait = stacks.BLOCKING_WAIT.get(name)
    folders = {key: str(folder) for key, folder in scopes.folders().items()}
    extras = {"spack": folders} | ({"blocking_wait": wait} if wait else {})
    known = scope_defaults() | dict(variables)
    settings = [
        *programs.search_paths(external.get("prefix")),
        *_variables(scopes.environ),
    ]
    base = {
        "name": f"{mpi}-spack",
        "target_systems": list(systems),
        "cc": "mpicc",
        "features": ["blocking_wait"] if wait else [],
        "modules": external.get("modules", []),
        "env_vars": [
            [variable, expand(value, known, scopes.environ)]
            for variable, value in settings
        ],
    }
    offered, without = _offered(scopes)
    return programs.environment(base, "spack", *offered, why_not=without, extras=extras)


def _offered(scopes: Scopes) -> tuple[list[Program], dict[str, str]]:
    """Return the programs that Spack builds by some scopes, and of the other suites why it does not."""
    offered, without = [], {}
    for suite in SUITES.values():
        package = suite.package
        if suite.only_of_sites and not (package and scopes.requirement(package.name)):
            continue
        if package is None:
            without[suite.name] = "`spack-envs` has no package for it"
        elif reason := scopes.why_not(package):
            without[suite.name] = reason
        else:
            offered.append(package.describe(*scopes.asked(package)))
    return offered, without


def _external(scopes: Scopes) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the required MPI, and the external that has the required release."""
    requirement = scopes.requirement("mpi") or ""
    name, version = parse_requirement(requirement)
    for external in scopes.setting(name, "externals")[0] or []:
        _, release = parse_requirement(external.get("spec", ""))
        if version is None or (release is not None and covers(version, release)):
            return name, external
    raise SpackError(
        f"{scopes.environ}: requires {requirement or 'no MPI'}, which is not an external here; name its"
        f" prefix or modules under `packages: {name or 'NAME'}: externals:` (an MPI is never built: the"
        " site's own is tested)"
    )


def _variables(scope: Path) -> list[list[str]]:
    """Return the variables that a scope sets or prepends to, as ReFrame wants them."""
    found = []
    for file in files(scope):
        section = load(file).get("env_vars") or {}
        given = {key: each or {} for key, each in section.items()}
        own, before = given.pop("set", {}), given.pop("prepend_path", {})
        if given:
            raise SpackError(
                f"{file}: env_vars has {min(given)!r}; only `set` and `prepend_path` are understood here"
            )
        found += [[name, str(value)] for name, value in own.items()]
        found += [
            [name, f"{value}${{{name}:+:${name}}}"] for name, value in before.items()
        ]
    return found
