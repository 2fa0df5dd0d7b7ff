# SPDX-License-Identifier: BSD-3-Clause
"""Which Spack it is, and whether it will do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_checks.core.errors import quoted
from fabric_checks.software import installed
from fabric_checks.software.spack.errors import SpackError

#: The release of Spack that the collection is tried with; ``ci/run`` brings it where there is none.
PINNED = installed.SPACK.tag.removeprefix("v")

#: Its commit: a tag can be moved.
PINNED_COMMIT = installed.SPACK.commit

#: Older ones have no ``path_override_env_var``, so no scope of a site would reach an environment.
OLDEST = (1, 1)

#: The release of the package repository that the versions in ``spack-envs/common`` are from.
PINNED_PACKAGES = installed.PACKAGES.tag

#: Its commit.
PINNED_PACKAGES_COMMIT = installed.PACKAGES.commit

#: Where that repository is, unless FABRIC_SPACK_PACKAGES_URL says otherwise.
PACKAGES_URL = installed.PACKAGES.url

VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?[-.\w]*(?: \(([^()]+)\))?")


def parse_version(output: str) -> tuple[int, int, int]:
    """Return the release from the output of ``spack --version``, such as ``1.1.0 (2e907202...)``.

    :raises SpackError: if it is no version.
    """
    # Spack may warn, of a configuration for instance, before it answers: the answer is the last line.
    lines = output.strip().splitlines() or [""]
    match = VERSION.fullmatch(lines[-1].strip())
    if not match:
        raise SpackError(f"`spack --version` said {quoted(lines[-1])}, which is not a version; is that Spack?")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def require_version(output: str, place: str = "spack") -> tuple[int, int, int]:
    """Return the release from the output of ``spack --version`` if it is one that will do.

    :param place: where that Spack is, for the message.
    :raises SpackError: if it is older than 1.1 or no version at all.
    """
    version = parse_version(output)
    if version[:2] < OLDEST:
        raise SpackError(
            f"{place}: Spack {'.'.join(map(str, version))} is too old: 1.1 or later is needed; name another with "
            f"SPACK_ROOT, or unset it to have {PINNED} installed"
        )
    return version


def require_pinned(output: str, place: str) -> None:
    """Hold the Spack that was brought to the commit of its release.

    :param output: that of ``spack --version``; :param place: where that Spack is.
    :raises SpackError: if it is another.
    """
    match = VERSION.fullmatch(output.strip().splitlines()[-1].strip())
    commit = match[4] if match else None
    if commit != PINNED_COMMIT:
        raise SpackError(
            f"{place}: commit {quoted(commit or 'unknown')} instead of {PINNED_COMMIT}, that of release {PINNED}: the "
            "tag was moved where it was cloned from, or the clone was changed; delete it, and set FABRIC_SPACK_URL to "
            "a sound copy"
        )


@dataclass(frozen=True)
class Checkout:
    """What Git says of a clone.

    :param commit: what is checked out, or nothing if it is no clone.
    :param described: that in words, by the nearest tag.
    :param changed: the files that differ from it, or that it does not know.
    """

    commit: str
    described: str = ""
    changed: tuple[str, ...] = ()


def require_packages(found: Checkout, place: str = "package repository") -> None:
    """Hold the package repository to the commit of the pinned release, and to that alone.

    :raises SpackError: if it is another one, or was edited.
    """
    if not found.commit:
        raise SpackError(
            f"{place}: not a Git clone, but release {PINNED_PACKAGES} of spack-packages is needed; name a clone of it "
            "in the site's repos.yaml"
        )
    if found.commit != PINNED_PACKAGES_COMMIT:
        moved = found.described == PINNED_PACKAGES
        remedy = (
            "that tag was moved there: delete the clone, and set FABRIC_SPACK_PACKAGES_URL to a sound copy"
            if moved
            else "check that release out, or name a clone of it in the site's repos.yaml"
        )
        raise SpackError(
            f"{place}: {quoted(found.described or 'no tag')}, commit {found.commit[:12]}, where release "
            f"{PINNED_PACKAGES} of spack-packages, commit {PINNED_PACKAGES_COMMIT[:12]}, is needed; {remedy}"
        )
    if found.changed:
        more = f" and {len(found.changed) - 1} more" if len(found.changed) > 1 else ""
        raise SpackError(
            f"{place}: {quoted(found.changed[0])}{more} differs from release {PINNED_PACKAGES}; undo the change, and "
            "put your own recipes into a repository of your own (repos.yaml of the site's scope)"
        )
