# SPDX-License-Identifier: BSD-3-Clause
"""Find Spack, run it apart from the user's own configuration of it, and hold it to the release that is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from fabric_checks.session import ROOT, home
from fabric_checks.spack.errors import SpackError
from fabric_checks.spack.failure import NOT_THERE, explain
from fabric_checks.spack.version import PACKAGES_URL, require_packages, require_version

#: The compilers that Spack looks for on PATH; their releases decide what is built.
COMPILERS = ("gcc", "g++", "gfortran", "clang", "clang++", "flang", "icx", "icpx", "ifx", "nvc", "nvc++", "nvfortran")


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
    return home() / "spack" / "spack" / "bin" / "spack"


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
        """The variables for Spack: nothing of the user's own configuration or of another active environment."""
        own = {
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(home() / "spack" / "user"),
            "SPACK_COLOR": "never",
        }
        if "SPACK_PYTHON" not in self.variables and find_spec("clingo"):
            own["SPACK_PYTHON"] = sys.executable
        inherited = {name: value for name, value in self.variables.items() if name not in ("SPACK_ENV", "PYTHONPATH")}
        return scope_defaults() | inherited | own

    def run(self, *arguments: str, environment: Path | None = None, log: Path | None = None) -> str:
        """Run one command of Spack and return what it printed, both streams together.

        It stays in the caller's process group, so that whoever kills that stops the compilers too.

        :param environment: the folder with ``spack.yaml`` that it works on.
        :param log: gets the output while it comes.
        :raises SpackError: with cause and remedy, if it fails.
        """
        options = ["-e", str(environment)] if environment else []
        if self.mirror:
            url = self.mirror if "://" in self.mirror else Path(self.mirror).resolve().as_uri()
            # In quotes, because a colon divides the path of a setting.
            options += ["-c", f"mirrors:fabric-checks:url:'{url}'", "-c", "mirrors:fabric-checks:signed:false"]
        status, output = self._execute([*options, *arguments], log)
        if status:
            where = f"\n  all of its output: {log}" if log else ""
            raise SpackError(explain(output, status) + where)
        return output

    def _execute(self, arguments: list[str], log: Path | None = None) -> tuple[int, str]:
        command = [str(self.program), *arguments]
        try:
            if log is None:
                done = subprocess.run(
                    command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
                )
                return done.returncode, done.stdout.decode(errors="replace")
            with log.open("wb") as out:
                done = subprocess.run(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT, check=False)
            return done.returncode, log.read_text(errors="replace")
        except OSError as error:
            raise SpackError(f"{error.filename or self.program}: cannot be run: {error.strerror}") from None

    def release(self) -> str:
        """Return what ``spack --version`` says.

        :raises SpackError: if it is too old or no Spack.
        """
        _, output = self._execute(["--version"])
        require_version(output, str(self.program))
        return output.strip().splitlines()[-1].strip()

    def packages(self, environment: Path) -> tuple[Path, str]:
        """Return where the package repository is and its commit.

        :raises SpackError: if it is not at the pinned release.
        """
        place = Path(self.run("location", "--repo", "builtin", environment=environment).strip().splitlines()[-1])
        require_packages(git(place, "describe", "--tags", "--dirty"), str(place))
        return place, git(place, "rev-parse", "HEAD")

    def identity(self) -> list[str]:
        """Return what tells this Spack from another one, without running it: that would take most of a second."""
        root = self.program.resolve().parent.parent
        version = root / "lib" / "spack" / "spack" / "__init__.py"
        return [
            str(root),
            git(root, "rev-parse", "HEAD") if (root / ".git").exists() else "",
            version.read_text(errors="replace") if version.is_file() else self._execute(["--version"])[1],
        ]

    def machine(self) -> list[str]:
        """Return what Spack finds out by itself: the compilers on PATH and the instructions of the processor."""
        found = [shutil.which(name, path=self.variables.get("PATH")) for name in COMPILERS]
        versions = [f"{path} {first_line([path, '--version'])}" for path in found if path]
        try:
            flags = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")]
        except OSError:
            flags = []
        return [os.uname().machine, *sorted(set(flags)), *versions]


def scope_defaults() -> dict[str, str]:
    """Return the variables that the shipped scopes use, as they are if the user does not set them."""
    return {"FABRIC_HOME": str(home()), "FABRIC_CLONE": str(ROOT), "FABRIC_SPACK_PACKAGES_URL": PACKAGES_URL}


def git(folder: Path, *arguments: str) -> str:
    """Return what a command of Git prints about a folder; nothing if it is in no repository or there is no Git."""
    # A repository that somebody else owns, such as root's on a shared file system, is read all the same.
    return first_line(["git", "-c", f"safe.directory={folder}", "-C", str(folder), *arguments])


def first_line(command: list[str]) -> str:
    """Return the first line that a command prints; nothing if it fails or is missing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""
