# SPDX-License-Identifier: BSD-3-Clause
"""Find Spack, run it apart from the user's own configuration of it, and hold it to the release that is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.core.paths import ROOT, home
from fabric_checks.software import installed
from fabric_checks.software.spack.credentials import for_git, redacted, without_user
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.failure import NO_GIT, NO_REPOSITORY, NOT_THERE, TELLING_LINES, explain, telling
from fabric_checks.software.spack.fingerprint import contents
from fabric_checks.software.spack.version import (
    PACKAGES_URL,
    Checkout,
    require_packages,
    require_pinned,
    require_version,
)
from fabric_checks.software.stacks import WHEEL_MPIS

#: The compilers that Spack looks for on PATH; their releases decide what is built.
COMPILERS = ("gcc", "g++", "gfortran", "clang", "clang++", "flang", "icx", "icpx", "ifx", "nvc", "nvc++", "nvfortran")

#: The script that Spack's own Python runs.
INSIDE = Path(__file__).with_name("inside.py")

#: The name that FABRIC_SPACK_MIRROR has in Spack's configuration.
MIRROR = "fabric-checks"

#: The name of the package repository that is pinned.
BUILTIN = "builtin"


def find(variables: Mapping[str, str]) -> Path:
    """Return the program ``spack``: that below SPACK_ROOT, else the one on PATH, else the one that `ci/run` brought.

    :raises SpackError: if there is none, or SPACK_ROOT names a folder without one.
    """
    if variables.get("SPACK_ROOT"):
        program = Path(variables["SPACK_ROOT"]) / "bin" / "spack"
        if not program.is_file():
            raise SpackError(f"SPACK_ROOT is {variables['SPACK_ROOT']!r}, which has no bin/spack; correct or unset it")
        return program
    on_path = shutil.which("spack", path=variables.get("PATH"))
    program = Path(on_path) if on_path else brought()
    if not program.is_file():
        raise SpackError(f"{NOT_THERE.name}: neither below SPACK_ROOT, on PATH nor at {program}; {NOT_THERE.remedy}")
    return program


def brought() -> Path:
    """Return where `ci/run` puts the Spack that it brings."""
    return installed.found("spack") / "bin" / "spack"


@dataclass(frozen=True)
class Known:
    """What Spack knows of an environment before it builds.

    :param release: what ``spack --version`` says.
    :param config: every section of the configuration, as all scopes together give it.
    :param repositories: the package repositories, the strongest first: name and folder.
    :param stage: the folder that it builds in.
    """

    release: str
    config: dict[str, Any]
    repositories: list[tuple[str, Path]]
    stage: Path

    def parts(self) -> list[bytes]:
        """Return all that decides what is built, for a fingerprint; the builtin repository is the pinned one anyway."""
        parts = [self.release.encode(), json.dumps(self.config).encode()]
        for name, place in self.repositories:
            parts.append(name.encode())
            if name != BUILTIN:
                parts += contents(place)
        return parts

    @property
    def unsigned(self) -> bool:
        """Whether the site takes built packages from a mirror without a check of their signatures."""
        entries = [entry for entry in self.config["mirrors"].values() if isinstance(entry, dict)]
        return any(entry.get("binary", True) and not entry.get("signed", True) for entry in entries)


@dataclass(frozen=True)
class Installed:
    """What stands of one installed package.

    :param name: its name; :param hash: Spack's; :param prefix: where it is.
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
    """A Spack that was found, and the variables that it is run with.

    :param program: its ``bin/spack``.
    :param variables: those of the caller, usually ``os.environ``.
    :param mirror: a mirror that goes before all others, a folder or an address; empty for none.
    """

    program: Path
    variables: Mapping[str, str]
    mirror: str = ""

    @classmethod
    def found(cls, variables: Mapping[str, str]) -> Spack:
        """Return the Spack of this machine; FABRIC_SPACK_MIRROR names a mirror.

        :raises SpackError: if there is none.
        """
        return cls(find(variables), variables, variables.get("FABRIC_SPACK_MIRROR", ""))

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables for Spack: nothing of the user's own configuration or of another active environment.

        Spack writes them down beside every build, so no credentials are in them.
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
        """Run one command of Spack and return what it printed, both streams together.

        It stays in the caller's process group, so that whoever kills that stops the compilers too.

        :param environment: the folder with ``spack.yaml`` that it works on.
        :param log: gets the output while it comes, behind what it has.
        :param watch: is given each line when it comes.
        :param more: variables for this command alone.
        :raises SpackError: with cause and remedy, if it fails.
        """
        options = ["-e", str(environment)] if environment else []
        if self.mirror:
            url = self.mirror if "://" in self.mirror else Path(self.mirror).resolve().as_uri()
            # In quotes, because a colon divides the path of a setting.
            options += ["-c", f"mirrors:{MIRROR}:url:'{url}'", "-c", f"mirrors:{MIRROR}:signed:false"]
        status, output = self._execute([*options, *arguments], log, watch, more or {})
        if status:
            where = f"\n  all of its output: {log}" if log else ""
            raise SpackError(explain(output, status) + where)
        return output

    def _execute(
        self,
        arguments: list[str],
        log: Path | None = None,
        watch: Callable[[str], object] = lambda line: None,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        lines = []
        try:
            with ExitStack() as stack:
                out = stack.enter_context(log.open("a", buffering=1)) if log else None
                process = stack.enter_context(
                    subprocess.Popen(
                        [str(self.program), *arguments],
                        env=self.environment | dict(more or {}),
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        encoding="utf-8",
                        errors="replace",
                    )
                )
                stack.callback(_end, process)
                assert process.stdout is not None
                for line in process.stdout:
                    lines.append(redacted(line))
                    if out:
                        out.write(lines[-1])
                    watch(lines[-1].rstrip("\n"))
                return process.wait(), "".join(lines)
        except OSError as error:
            raise SpackError(f"{error.filename or self.program}: cannot be run: {error.strerror}") from None

    def release(self) -> str:
        """Return what ``spack --version`` says.

        :raises SpackError: if it is too old or no Spack.
        """
        _, output = self._execute(["--version"])
        require_version(output, str(self.program))
        return output.strip().splitlines()[-1].strip()

    def known(self, environment: Path) -> Known:
        """Return what Spack knows of an environment before it builds; clone the package repository if need be.

        :raises SpackError: if Spack is too old, or the package repository is not the pinned one.
        """
        if shutil.which("git", path=self.variables.get("PATH")) is None:
            raise SpackError(f"Spack: {NO_GIT.name}\nTo do: {NO_GIT.remedy}")
        said = ""
        try:
            said = self.run(
                *("python", str(INSIDE), "decides"),
                environment=environment,
                more=for_git(self.variables, "FABRIC_SPACK_PACKAGES_URL"),
            )
            answer = json.loads(said.strip().splitlines()[-1])
            release, config = answer["release"], answer["config"]
            repositories = [(name, Path(place)) for name, place in answer["repositories"]]
            config["mirrors"].pop(MIRROR, None)  # where a source comes from does not change what it is
            known = Known(release, config, repositories, Path(answer["stage"]))
        except SpackError:
            self.release()  # one that is too old has errors of its own, and that is the reason
            raise
        except (ValueError, LookupError, TypeError, AttributeError):
            last = said.strip().splitlines()[-1:] or ["nothing"]
            raise SpackError(f"{self.program}: `spack python` said {quoted(last[0])}, which is not an answer") from None
        require_version(release, str(self.program))
        if self.program == brought():
            require_pinned(release, str(self.program))
        place = next((place for name, place in repositories if name == BUILTIN), None)
        warnings = [line for line in telling(said)[:-1] if NO_REPOSITORY.pattern.search(line)]
        if place is None or warnings:
            # Spack only warns, does without the recipes, and takes a clone that broke off for one that is there.
            words = [f"  {line}" for line in telling(said)[-TELLING_LINES:-1]]
            raise SpackError("\n".join([f"Spack: {NO_REPOSITORY.name}", *words, f"To do: {NO_REPOSITORY.remedy}"]))
        require_packages(self._checkout(place), str(place))
        return known

    def _checkout(self, place: Path) -> Checkout:
        # The first line names the branch, so that silence is never taken for a clone without changes.
        said = git(place, "status", "--porcelain", "--branch").splitlines()
        commit = git(place, "rev-parse", "HEAD") if said else ""
        return Checkout(commit, git(place, "describe", "--tags"), tuple(line[3:] for line in said[1:]))

    def installed(self, environment: Path) -> list[Installed]:
        """Return what stands of every package that the built programs need.

        :raises SpackError: if Spack fails.
        """
        said = self.run("python", str(INSIDE), "installed", environment=environment)
        return [Installed(**each) for each in json.loads(said.strip().splitlines()[-1])]

    def identity(self) -> list[str]:
        """Return what tells this Spack from another one of the same release: where it is, and its edits."""
        root = self.program.resolve().parent.parent
        edits = [git(root, "rev-parse", "HEAD"), git(root, "diff", "HEAD")] if (root / ".git").exists() else []
        return [str(root), *edits]

    def machine(self) -> list[str]:
        """Return what Spack finds out by itself: the compilers on PATH and the instructions of the processor."""
        found = [shutil.which(name, path=self.variables.get("PATH")) for name in COMPILERS]
        versions = [f"{path} {first_line([path, '--version'])}" for path in found if path]
        try:
            flags = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")]
        except OSError:
            flags = []
        return [os.uname().machine, *sorted(set(flags)), *versions]


def _end(process: subprocess.Popen[str]) -> None:
    """End a process that is still running: whatever ended its reader ends Spack too."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def scope_defaults() -> dict[str, str]:
    """Return the variables that the shipped scopes use, as they are if the user does not set them."""
    prefixes = {f"FABRIC_{mpi.upper()}": str(installed.found(mpi)) for mpi in WHEEL_MPIS}
    found = {"FABRIC_HOME": str(home()), "FABRIC_CLONE": str(ROOT), "FABRIC_SPACK_PACKAGES_URL": PACKAGES_URL}
    return found | prefixes


def git(folder: Path, *arguments: str) -> str:
    """Return what a command of Git prints about a folder; nothing if it is in no repository."""
    # A repository that somebody else owns, such as root's on a shared file system, can still be read.
    return output_of(["git", "-c", "safe.directory=*", "-C", str(folder), *arguments], timeout_s=600)


def first_line(command: list[str]) -> str:
    """Return the first line that a command prints; nothing if it fails or is missing."""
    return output_of(command).partition("\n")[0].strip()


def output_of(command: list[str], timeout_s: float = 60) -> str:
    """Return what a command prints, without an empty end; nothing if it fails or is missing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.rstrip() if done.returncode == 0 else ""
