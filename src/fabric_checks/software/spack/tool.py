# SPDX-License-Identifier: BSD-3-Clause
"""Find Spack, run it apart from the user's own configuration of it, and hold it to the release that is needed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.core.paths import ROOT, home
from fabric_checks.core.text import names_text
from fabric_checks.software import installed
from fabric_checks.software.spack.failure import (
    MOST_LINES,
    NO_GIT,
    NO_REPOSITORY,
    NOT_THERE,
    SpackError,
    distinct_lines,
    explain,
    shortened,
)
from fabric_checks.software.stacks import WHEEL_MPIS

#: Older ones have no ``path_override_env_var``, so no scope of a site would reach an environment.
OLDEST = (1, 1)

#: The answer to ``spack --version``, such as ``1.1.0 (2e907202...)`` or ``1.2.0.dev0 (...)``.
VERSION = re.compile(r"(\d+)\.(\d+)[-.\w]*(?: \([^()]+\))?")

#: The script that Spack's own Python runs.
INSIDE = Path(__file__).with_name("inside.py")

#: The name that FABRIC_SPACK_MIRROR has in Spack's configuration.
MIRROR = "fabric-checks"

#: The name of the package repository that is pinned.
BUILTIN = "builtin"

#: The user, with password or token, in ``https://USER:TOKEN@host``; the user of ``ssh://git@host`` is no secret.
USER = re.compile(r"(?<!ssh)(://)[^/\s'\"]+@")


@dataclass(frozen=True)
class Configured:
    """An environment's configuration, as Spack itself has put it together of all scopes.

    :param release: the answer to ``spack --version``.
    :param stage: the folder that Spack builds in.
    :param takes_unsigned: whether packages are taken from a mirror without a check of their signatures.
    """

    release: str
    stage: Path
    takes_unsigned: bool


@dataclass(frozen=True)
class Installed:
    """An installed package.

    :param name: its name; :param hash: Spack's; :param prefix: its folder.
    :param lost: its files that are not as they were installed; the prefix itself if there is none.
    :param cached: whether it was taken from a build cache.
    """

    name: str
    hash: str
    prefix: str
    lost: list[str]
    cached: bool


@dataclass(frozen=True)
class Spack:
    """A Spack that runs apart from the user's own configuration.

    :param program: the path of ``spack``.
    :param variables: those of the caller, usually ``os.environ``. FABRIC_SPACK_MIRROR among them, a folder or an
        address, is a mirror that goes before all others.
    """

    program: Path
    variables: Mapping[str, str]

    @classmethod
    def found(cls, variables: Mapping[str, str]) -> Spack:
        """Return the Spack below SPACK_ROOT, else the one on PATH, else the one that `ci/run` installs.

        :raises SpackError: if there is none, or SPACK_ROOT names a folder without one.
        """
        if root := variables.get("SPACK_ROOT"):
            program = Path(root) / "bin" / "spack"
            if not program.is_file():
                raise SpackError(f"SPACK_ROOT is {root!r}, which has no bin/spack; correct or unset it")
            return cls(program, variables)
        on_path = shutil.which("spack", path=variables.get("PATH"))
        program = Path(on_path) if on_path else installed.found("spack") / "bin" / "spack"
        if not program.is_file():
            raise SpackError(
                f"{NOT_THERE.name}: neither below SPACK_ROOT, on PATH nor at {program}; {NOT_THERE.remedy}"
            )
        return cls(program, variables)

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables of Spack: nothing of the user's own configuration or of another active environment.

        Spack writes them into a file of every build, so no credentials are in them.
        """
        own = {
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(home() / "spack" / "user"),
            "SPACK_COLOR": "never",
            # Else its own lines come behind the errors that they precede, or not before the end.
            "PYTHONUNBUFFERED": "1",
        }
        if "SPACK_PYTHON" not in self.variables and find_spec("clingo"):
            own["SPACK_PYTHON"] = sys.executable
        inherited = {name: value for name, value in self.variables.items() if name not in ("SPACK_ENV", "PYTHONPATH")}
        known = scope_defaults() | inherited | own
        return {
            name: without_user(value) if name.startswith("FABRIC_SPACK_") else value for name, value in known.items()
        }

    def run(
        self,
        *arguments: str,
        environment: Path | None = None,
        log: Path | None = None,
        watch: Callable[[str], object] = lambda line: None,
        more: Mapping[str, str] | None = None,
    ) -> str:
        """Run one command of Spack and return its output, both streams together.

        It stays in the caller's process group, so that a signal to that stops the compilers too.

        :param environment: the folder with ``spack.yaml`` that it works on.
        :param log: is appended the output while it comes; :param watch: is called with each line when it comes.
        :param more: variables for this command alone.
        :raises SpackError: with cause and remedy, if it fails.
        """
        options = ["-e", str(environment)] if environment else []
        if mirror := self.variables.get("FABRIC_SPACK_MIRROR"):
            url = mirror if "://" in mirror else Path(mirror).resolve().as_uri()
            # In quotes, because a colon divides the path of a setting.
            options += ["-c", f"mirrors:{MIRROR}:url:'{url}'", "-c", f"mirrors:{MIRROR}:signed:false"]
        lines = []
        try:
            with (
                log.open("a", buffering=1) if log else nullcontext() as file,
                subprocess.Popen(
                    [str(self.program), *options, *arguments],
                    env=self.environment | dict(more or {}),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    encoding="utf-8",
                    errors="replace",
                ) as process,
            ):
                for line in process.stdout or ():
                    lines.append(installed.redacted(line))
                    if file:
                        file.write(lines[-1])
                    watch(lines[-1].rstrip("\n"))
                status = process.wait()
        except OSError as error:
            raise SpackError(f"{error.filename or self.program}: cannot be run: {error.strerror}") from None
        if status:
            all_of_it = f"\n  all of its output: {log}" if log else ""
            raise SpackError(explain("".join(lines), status) + all_of_it)
        return "".join(lines)

    def configured(self, environment: Path) -> Configured:
        """Return the configuration of an environment; clone the package repository if need be.

        :raises SpackError: if Spack is too old, or the package repository is not the pinned one.
        """
        if shutil.which("git", path=self.variables.get("PATH")) is None:
            raise SpackError(f"Spack: {NO_GIT.name}\nTo do: {NO_GIT.remedy}")
        release = require_version(self.run("--version"), str(self.program))
        answer, before = self._ask("configured", environment, _for_git(self.variables, "FABRIC_SPACK_PACKAGES_URL"))
        builtin = answer["repositories"].get(BUILTIN)
        if builtin is None or NO_REPOSITORY.pattern.search("\n".join(before)):
            # Spack only warns, does without the recipes, and takes a clone that broke off for a complete one.
            evidence = [f"  {shortened(line)}" for line in before[-MOST_LINES:]]
            raise SpackError("\n".join([f"Spack: {NO_REPOSITORY.name}", *evidence, f"To do: {NO_REPOSITORY.remedy}"]))
        require_packages(Path(builtin))
        mirrors = [mirror for mirror in answer["mirrors"].values() if isinstance(mirror, dict)]
        unsigned = any(mirror.get("binary", True) and not mirror.get("signed", True) for mirror in mirrors)
        return Configured(release, Path(answer["stage"]), unsigned)

    def installed(self, environment: Path) -> list[Installed]:
        """Return every installed package that the built programs need at run time.

        :raises SpackError: if Spack fails.
        """
        answer, _ = self._ask("installed", environment)
        return [Installed(**each) for each in answer]

    def _ask(self, question: str, environment: Path, more: Mapping[str, str] | None = None) -> tuple[Any, list[str]]:
        """Return the answer of ``inside.py``, the last line, and the lines that Spack printed before it."""
        output = self.run("python", str(INSIDE), question, environment=environment, more=more)
        *before, last = distinct_lines(output) or [""]
        try:
            return json.loads(last), before
        except ValueError:
            raise SpackError(f"{self.program}: the answer of `spack python` is {quoted(last)}, not JSON") from None


def require_version(output: str, program: str) -> str:
    """Return the release from the output of ``spack --version`` if it is recent enough.

    :param program: the path of that Spack, for the message.
    :raises SpackError: if it is older than 1.1 or no release at all.
    """
    # Spack may warn, of a configuration for instance, before it answers: the answer is the last line.
    last = (output.strip().splitlines() or [""])[-1].strip()
    match = VERSION.fullmatch(last)
    if not match:
        raise SpackError(f"{program}: `spack --version` says {quoted(last)}, which is not a version; is that Spack?")
    if (int(match[1]), int(match[2])) < OLDEST:
        raise SpackError(
            f"{program}: Spack {last.split()[0]} is too old: 1.1 or later is needed; name another with SPACK_ROOT, or "
            f"unset it to have {installed.SPACK.tag.removeprefix('v')} installed"
        )
    return last


def require_packages(folder: Path) -> None:
    """Hold a clone of the package repository to the commit of the pinned release, unchanged.

    :raises SpackError: if it is another commit, was edited, or is no clone.
    """
    pinned = installed.PACKAGES
    # The first line names the branch, so that silence is never taken for a clone without changes.
    status = git(folder, "status", "--porcelain", "--branch").splitlines()
    commit = git(folder, "rev-parse", "HEAD") if status else "no Git clone"
    if commit != pinned.commit:
        raise SpackError(
            f"{folder}: {commit[:12]}, where release {pinned.tag} of spack-packages, commit {pinned.commit[:12]}, is "
            "needed; delete a clone that Spack made, and set FABRIC_SPACK_PACKAGES_URL to a sound copy, or name a "
            "clone of that release in the site's repos.yaml"
        )
    if changed := [line[3:] for line in status[1:]]:
        raise SpackError(
            f"{folder}: {names_text(list(map(quoted, changed)), 1)} differs from release {pinned.tag}; undo the "
            "change, and put your own recipes into a repository of your own (repos.yaml of the site's scope)"
        )


def scope_defaults() -> dict[str, str]:
    """Return the defaults of the variables that the shipped scopes use."""
    prefixes = {f"FABRIC_{mpi.upper()}": str(installed.found(mpi)) for mpi in WHEEL_MPIS}
    url = {"FABRIC_SPACK_PACKAGES_URL": installed.PACKAGES.url}
    return {"FABRIC_HOME": str(home()), "FABRIC_CLONE": str(ROOT)} | url | prefixes


def without_user(url: str) -> str:
    """Return an address without user and token: those go to Git, and to nothing that is printed or written."""
    return USER.sub(r"\1", url)


def _for_git(variables: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the variables by which Git finds the credentials of an address that it is given without them.

    :param variables: those of the process, which may hold settings of this kind already.
    :param name: the variable that holds the address.
    """
    url = variables.get(name, "")
    if without_user(url) == url:
        return {}
    count = int(variables.get("GIT_CONFIG_COUNT") or 0)
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": f"url.{url}.insteadOf",
        f"GIT_CONFIG_VALUE_{count}": without_user(url),
    }


def git(folder: Path, *arguments: str) -> str:
    """Return the output of a command of Git on a folder; nothing if it is in no repository."""
    # A repository that somebody else owns, such as root's on a shared file system, can still be read.
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout.rstrip()
