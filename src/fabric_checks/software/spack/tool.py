# SPDX-License-Identifier: BSD-3-Clause
"""Find Spack, run it apart from the user's own configuration of it, and hold it to the release that is
needed."""

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

from fabric_checks.core.paths import ROOT, home
from fabric_checks.software import installed
from fabric_checks.software.spack.failure import SpackError, distinct_lines, explain
from fabric_checks.software.stacks import WHEEL_MPIS

#: What Spack's own Python runs: it prints the folder of the package repository that is pinned. Only Spack
#: knows what all scopes together give, those of the instance and of conditional includes too.
REPOSITORY = "import spack.repo; print(*(x.root for x in spack.repo.PATH.repos if x.namespace == 'builtin'))"


@dataclass(frozen=True)
class Spack:
    """A Spack that runs apart from the user's own configuration.

    :param program: the path of ``spack``.
    :param variables: those of the caller, usually ``os.environ``. FABRIC_SPACK_MIRROR among them, a folder or
        a URL, is a mirror that precedes all others.
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
                raise SpackError(
                    f"SPACK_ROOT is {root!r}, which has no bin/spack; correct or unset it"
                )
            return cls(program, variables)
        on_path = shutil.which("spack", path=variables.get("PATH"))
        program = (
            Path(on_path) if on_path else installed.found("spack") / "bin" / "spack"
        )
        if not program.is_file():
            raise SpackError(
                f"Spack is missing: neither below SPACK_ROOT, on PATH nor at {program}; put `spack` on PATH,"
                " set SPACK_ROOT, or let `ci/run` install one"
            )
        return cls(program, variables)

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables of Spack: nothing of the user's own configuration or of another active environment.

        Spack writes them into a file of every build, so FABRIC_SPACK_URL, which may hold a token, is not
        among them.
        """
        own = {
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(home() / "spack" / "user"),
            "SPACK_COLOR": "never",
            # Otherwise its lines follow the errors that they precede, or come at the end only.
            "PYTHONUNBUFFERED": "1",
        }
        if "SPACK_PYTHON" not in self.variables and find_spec("clingo"):
            own["SPACK_PYTHON"] = sys.executable
        left_out = ("SPACK_ENV", "PYTHONPATH", "FABRIC_SPACK_URL")
        inherited = {
            name: value
            for name, value in self.variables.items()
            if name not in left_out
        }
        return scope_defaults() | inherited | own

    def run(
        self,
        *arguments: str,
        environment: Path | None = None,
        log: Path | None = None,
    ) -> str:
        """Run one command of Spack and return its output, both streams together.

        It stays in the caller's process group, so that a signal to that stops the compilers too.

        :param environment: the folder with the ``spack.yaml`` to use.
        :param log: the file that the output is appended to as it comes.
        :raises SpackError: with cause and remedy, if it fails.
        """
        options = ["-e", str(environment)] if environment else []
        if mirror := self.variables.get("FABRIC_SPACK_MIRROR"):
            url = mirror if "://" in mirror else Path(mirror).resolve().as_uri()
            # In quotes, because a colon divides the path of a setting.
            options += ["-c", f"mirrors:fabric-checks:url:'{url}'"]
        command = [str(self.program), *options, *arguments]
        try:
            status, output = _run(command, self.environment, log or Path(os.devnull))
        except OSError as error:
            raise SpackError(
                f"{error.filename or self.program}: cannot be run: {error.strerror}"
            ) from None
        if status:
            complete = f"\n  complete output: {log}" if log else ""
            raise SpackError(explain(output, status) + complete)
        return output

    def require_pinned(self, environment: Path) -> str:
        """Return Spack's release, and require the pinned package repository, which Spack clones if need be.

        :raises SpackError: if the package repository is missing or not the pinned one.
        """
        # An answer is the last line; Spack may print warnings before it.
        release = distinct_lines(self.run("--version"))[-1]
        answer = self.run("python", "-c", REPOSITORY, environment=environment)
        # It only warns of an interrupted clone, and continues without its recipes.
        folder = (distinct_lines(answer) or [""])[-1]
        if not folder.startswith("/"):
            raise SpackError(explain(answer, 0))
        require_packages(Path(folder))
        return release


def _run(command: list[str], variables: dict[str, str], log: Path) -> tuple[int, str]:
    """Run a command; return its exit status and its output without credentials, which goes to a log too."""
    lines = []
    with (
        log.open("a", buffering=1) as file,
        subprocess.Popen(
            command,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        for line in process.stdout or ():
            lines.append(installed.redacted(line))
            file.write(lines[-1])
    return process.returncode, "".join(lines)


def require_packages(folder: Path) -> None:
    """Hold a clone of the package repository to the commit of the pinned release.

    :raises SpackError: if it is another commit, or is no clone.
    """
    pinned = installed.PACKAGES
    # A repository that somebody else owns, such as root's on a shared file system, can still be read.
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    commit = done.stdout.strip() or "no Git clone"
    if commit != pinned.commit:
        raise SpackError(
            f"{folder}: {commit[:12]}, where release {pinned.tag} of spack-packages, commit"
            f" {pinned.commit[:12]}, is needed; delete a clone that Spack made, and set"
            " FABRIC_SPACK_PACKAGES_URL to a sound copy, or name a clone of that release in the site's"
            " repos.yaml"
        )


def scope_defaults() -> dict[str, str]:
    """Return the defaults of the variables that the shipped scopes use."""
    prefixes = {
        f"FABRIC_{mpi.upper()}": str(installed.found(mpi)) for mpi in WHEEL_MPIS
    }
    url = {"FABRIC_SPACK_PACKAGES_URL": installed.PACKAGES.url}
    return {"FABRIC_HOME": str(home()), "FABRIC_CLONE": str(ROOT)} | url | prefixes


def refuse_credentials(variables: Mapping[str, str]) -> None:
    """Refuse credentials in FABRIC_SPACK_PACKAGES_URL, which Spack writes into files of every build.

    :raises SpackError: with a remedy, and without the URL.
    """
    url = variables.get("FABRIC_SPACK_PACKAGES_URL", "")
    if installed.redacted(url) != url and not url.startswith("ssh://"):
        raise SpackError(
            "FABRIC_SPACK_PACKAGES_URL holds credentials, which Spack would write into every build; leave"
            " them to the credential helper of Git (`git help credentials`)"
        )
