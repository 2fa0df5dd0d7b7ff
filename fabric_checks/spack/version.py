# SPDX-License-Identifier: BSD-3-Clause
"""Which Spack it is, and whether it will do."""

from __future__ import annotations

import re

from fabric_checks.errors import quoted
from fabric_checks.spack.errors import SpackError

#: The release of Spack that the collection is tried with; ``ci/run`` brings it where there is none.
PINNED = "1.1.0"

#: Older ones have no ``path_override_env_var``, so no scope of a site would reach an environment.
OLDEST = (1, 1)

#: The release of the package repository that the versions in ``spack-envs/common`` are from.
PINNED_PACKAGES = "v2026.06.0"

#: Where that repository is, unless FABRIC_SPACK_PACKAGES_URL says otherwise.
PACKAGES_URL = "https://github.com/spack/spack-packages.git"

VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?[-.\w]*(?: \(([^()]+)\))?")


def parse_version(output: str) -> tuple[int, int, int]:
    """Return the release from the output of ``spack --version``, such as ``1.1.0 (2e907202...)``.

    :raises SpackError: if it is no version.
    """
    # Spack may warn, of a configuration for instance, before it answers: the answer is the last line.
    lines = output.strip().splitlines() or [""]
    match = VERSION.fullmatch(lines[-1].strip())
    if not match:
        raise SpackError(f"`spack --version` said {quoted(lines[-1])}, which is no version; is that Spack?")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def require_version(output: str, place: str = "spack") -> tuple[int, int, int]:
    """Return the release from the output of ``spack --version`` if it is one that will do.

    :param place: where that Spack is, for the message.
    :raises SpackError: if it is older than 1.1 or no version at all.
    """
    version = parse_version(output)
    if version[:2] < OLDEST:
        raise SpackError(
            f"{place}: Spack {'.'.join(map(str, version))} is too old, 1.1 or later is needed; "
            f"take another by SPACK_ROOT, or none, and {PINNED} is brought"
        )
    return version


def is_pinned(output: str) -> bool:
    """Tell whether it is the very release that the collection is tried with; one that is not may give other hashes."""
    return ".".join(map(str, parse_version(output))) == PINNED


def require_packages(described: str, place: str = "package repository") -> None:
    """Hold the package repository to the pinned release.

    :param described: what ``git describe --tags`` says of it; empty if it is no Git repository.
    :raises SpackError: if it is another release.
    """
    if described.strip() != PINNED_PACKAGES:
        raise SpackError(
            f"{place}: {quoted(described.strip()) if described.strip() else 'no Git tag'} where release "
            f"{PINNED_PACKAGES} of spack-packages is needed; check that tag out, or name it in the site's repos.yaml"
        )
