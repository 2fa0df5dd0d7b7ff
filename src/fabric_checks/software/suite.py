# SPDX-License-Identifier: BSD-3-Clause
"""What a suite of benchmarks is: declared once, in a file of :mod:`fabric_checks.software.suites`.

Prefixes and commands go into job scripts as they are, so they may hold shell variables that a module sets
(``$OSU_ROOT``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric_checks.core.paths import ROOT

#: Where programs come from.
STACKS = ("wheels", "spack", "modules", "simgrid")

#: Stands for the view of the environment that Spack builds, which is known only when a check has been set up.
VIEW = "{view}"

#: Where the environments are that Spack builds, in a folder for each package.
SPACK_ENVIRONMENTS = ROOT / "spack-envs"


@dataclass(frozen=True)
class Program:
    """What an environment offers of one suite.

    :param suite: the name of the suite.
    :param features: what checks may ask for.
    :param description: for ``extras['programs']``.
    :param without: what of the suite it does not have, and why.
    """

    suite: str
    features: tuple[str, ...]
    description: Mapping[str, Any]
    without: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Package:
    """The package of a suite in `spack-envs`.

    :param name: its name in Spack, and of its folder.
    :param describe: returns what it offers once it is built, from the requirement on it and its release.
    :param files: returns the files below the view that prove it whole, from the same requirement.
    """

    name: str
    describe: Callable[[str, str], Program]
    files: Callable[[str], list[str]]

    @property
    def environment(self) -> Path:
        """The folder with its ``spack.yaml``."""
        return SPACK_ENVIRONMENTS / self.name


@dataclass(frozen=True)
class Suite:
    """A suite of benchmarks.

    :param name: the feature that its checks ask for, and its key in ``extras['programs']``.
    :param title: what people call it.
    :param features: what an environment may offer of it beside its name, and what that means.
    :param keys: what its checks need to know of a program beside ``command`` and ``version``, and what that means.
    :param called: what results call its programs.
    :param package: how Spack builds it; None if it does not.
    :param only_of_sites: whether only a site can have it, as with a commercial code: that it is absent is not told.
    """

    name: str
    title: str
    features: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    called: tuple[str, ...] = ()
    package: Package | None = None
    only_of_sites: bool = False

    def program(
        self,
        command: str,
        version: str,
        *,
        features: tuple[str, ...] = (),
        without: Mapping[str, str] | None = None,
        called: str | None = None,
        **keys: object,
    ) -> Program:
        """Return a program of this suite, for an environment to offer.

        :param command: how a benchmark is started; ``{benchmark}`` stands for its name.
        :param version: its release.
        :param features: which of the suite's features it has; it always has the suite's name.
        :param without: those that it does not have and whose checks people may miss, with the reason.
        :param called: what results call it, if not what its suite is called.
        :param keys: a value for each of the suite's keys.
        :raises ValueError: if the suite declares none of that name, or one is missing.
        """
        names = self.called or (self.name,)
        unknown = [
            *(name for name in (*features, *(without or {})) if name not in self.features),
            *(name for name in (called,) if name and name not in names),
            *sorted(keys.keys() ^ self.keys.keys()),
        ]
        if unknown:
            raise ValueError(f"the suite {self.name} and this program of it disagree about {', '.join(unknown)}")
        description = {"program": called or names[0], "version": version, "command": command, **keys}
        return Program(self.name, (self.name, *features), description, without or {})


def release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a release; what is no number ends it.

    >>> release_of("7.1-1")
    (7, 1, 1)
    """
    leading = re.match(r"\d+(?:[.-]\d+)*", version)
    return tuple(int(number) for number in re.split(r"[.-]", leading[0])) if leading else ()
