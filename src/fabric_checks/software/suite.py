# SPDX-License-Identifier: BSD-3-Clause
"""Suites of benchmarks, their programs, and their packages in Spack; declared in
:mod:`~fabric_checks.software.suites`.

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

#: The origins of programs.
STACKS = ("wheels", "spack", "modules", "simgrid")

#: The placeholder for the view of the environment that Spack builds, which is known after a check has been
#: set up.
VIEW = "{view}"

#: The folder of the environments that Spack builds; each package has a folder in it.
SPACK_ENVIRONMENTS = ROOT / "spack-envs"


@dataclass(frozen=True)
class Program:
    """Describe a program of a suite that an environment offers.

    :param suite: the name of the suite.
    :param features: the features that checks may ask for.
    :param description: the entry in ``extras['programs']``.
    :param without: the features of the suite that it lacks, each with the reason.
    """

    suite: str
    features: tuple[str, ...]
    description: Mapping[str, Any]
    without: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Package:
    """Describe the package of a suite in `spack-envs`.

    :param name: its name in Spack, and of its folder.
    :param describe: returns the built program, given the requirement on it and its release.
    :param files: returns the files of a complete build below the view, given the same requirement.
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
    """Describe a suite of benchmarks.

    :param name: the feature that its checks ask for, and its key in ``extras['programs']``.
    :param title: its name for people.
    :param features: further features that an environment may offer, each with its meaning.
    :param keys: the facts that its checks need in addition to ``command`` and ``version``, with the meaning.
    :param called: the names of its programs in results.
    :param package: its package in Spack, if it has one.
    :param only_of_sites: whether only a site can have it, as with a commercial code; its absence is not
        reported.
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

        :param command: the command line of a benchmark; ``{benchmark}`` stands for its name.
        :param version: its release.
        :param features: those of the suite that it has; it always has the suite's name.
        :param without: those that it lacks, with the reason.
        :param called: its name in results, if that is not the first of the suite.
        :param keys: a value for each of the suite's keys.
        :raises ValueError: if the suite declares none of that name, or one is missing.
        """
        if (
            unknown := {*features, *(without or {})} - self.features.keys()
            | keys.keys() ^ self.keys.keys()
        ):
            raise ValueError(
                f"the suite {self.name} and this program of it disagree about {', '.join(sorted(unknown))}"
            )
        name = called or (self.called or (self.name,))[0]
        description = {"program": name, "version": version, "command": command, **keys}
        return Program(self.name, (self.name, *features), description, without or {})


def folder_of(program: Mapping[str, Any]) -> str:
    """Return the folder of a suite's programs, which may have shell variables in it.

    >>> folder_of({"command": "$OSU_ROOT/libexec/{folder}/{benchmark}"})
    '$OSU_ROOT/libexec'

    :param program: its entry in ``extras['programs']``. Programs that are looked for on PATH have none.
    """
    return str(program["command"]).partition("{")[0].rpartition("/")[0]


def release_of(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a release.

    >>> release_of("7.1-1")
    (7, 1, 1)
    """
    leading = re.match(r"\d+(?:[.-]\d+)*", version)
    return (
        tuple(int(number) for number in re.split(r"[.-]", leading[0]))
        if leading
        else ()
    )
