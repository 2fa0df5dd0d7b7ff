# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures that build what the checks run."""

import json
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import (
    fixture,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import EnvironError, SanityError
from reframe.core.logging import getlogger
from reframe.core.meta import make_test
from reframe.core.runtime import runtime

from fabric_checks.core.errors import quoted
from fabric_checks.core.extras import EnvironExtras
from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext.internals import without_deprecated_alias
from fabric_checks.reframe_ext.mixins.container import (
    ContainerMixin,
    inside,
    one_process,
)
from fabric_checks.software.programs import build_own
from fabric_checks.software.suite import folder_of

#: The ending of the file with the folder of a suite's programs, where its path has shell variables.
FOLDER = ".folder"


@without_deprecated_alias
class Build(rfm.CompileOnlyRegressionTest):
    """A build in one environment: on this host, and where the partition is this host, as one of its jobs.

    A job of the partition waits for the other jobs of this session, so nothing is measured during a build.
    """

    #: Ignored by builds: they are set for all tests of a session.
    profile = variable(bool, value=False)
    verify_data = variable(bool, value=False)

    @run_after("setup")
    def count_as_a_job_of_this_host(self):
        """Leave to ReFrame's local scheduler only what no job of the partition can be disturbed by."""
        self.local = self.build_locally = not self.current_partition.scheduler.is_local


class FabricPrograms(Build):
    """The collection's own MPI programs, built for each environment with its ``mpicc`` and kept; see
    ``build.sh``.

    Where an image is named they are built inside, with the MPI of the image; `ports`, which starts the
    container and is no MPI program, is built on the host.
    """

    descr = "Build the collection's own MPI programs"
    container = ContainerMixin.container
    # ReFrame would copy the mode of the folder, too, and could not write to it if the clone is read-only.
    sourcesdir = None
    prebuild_cmds = [f"cp -R {ROOT}/checks/fabric/src/. .", "chmod -R u+w ."]
    build_system = "CustomBuild"

    @run_before("compile")
    def build_or_take_what_is_kept(self):
        """Leave the compiler and its flags to the environment and the Makefile."""
        extras = EnvironExtras.of(self.current_environ)
        if extras.not_set_up and not self.is_dry_run():
            raise EnvironError(extras.not_set_up)
        if extras.not_set_up:
            name = self.current_environ.name
            getlogger().warning(f"a run of {name} would fail: {extras.not_set_up}")
        folders = {name: folder_of(each) for name, each in extras.programs.items()}
        noted = [
            f"echo {folder} > {suite}{FOLDER}"
            for suite, folder in folders.items()
            if "$" in folder
        ]
        self.build_system.commands = [*self._build_commands(), *noted]

    def _build_commands(self):
        """Return the lines that build; a failure is left to whoever needs a program, and names the compiler's
        error."""
        build = build_own(self.current_environ.cc, profiler=self.profile)
        container, mounted = self.container, [self.stagedir, home() / "programs"]
        if container is None:
            return [f"{shlex.join(build)} || true"]
        lines = [f"mkdir -p {mounted[1]}"]
        if container.by_launcher:
            access = self.current_partition.access
            build = [*one_process(container, mounted, access), *build]
            return [*lines, f"{shlex.join(build)} || true"]
        build = inside(container, [shlex.join(build)], mounted)
        return [
            *lines,
            f"{' '.join(build)} || true",
            "rm -f ports; make ports CC=cc || true",
        ]

    @sanity_function
    def programs_exist(self):
        """Require what every check needs; the others are required by the cases that run them."""
        for name in ("placement", "ports", *(["profile.so"] if self.profile else [])):
            self.require_program(name)
        return True

    def require_program(self, name):
        """Return the path of a program.

        :raises SanityError: if it was not built, with the compiler's first error.
        """
        path = Path(self.stagedir) / name
        if not path.exists():
            where = self.current_environ.name
            if self.container:
                where += f" inside {self.container}, which needs make and {self.current_environ.cc}"
            raise SanityError(
                f"{name} cannot be built in {where}: {self._first_error(name)}"
            )
        return path

    def _first_error(self, name):
        """Return the first error that the compiler printed of a program, and the file with all of them."""
        path = Path(self.stagedir) / self.build_job.stderr
        text = path.read_text(errors="replace") if path.exists() else ""
        # make names the program in the line behind what its compiler printed.
        for part in re.split(r"(?<=] Error )\d+\n", text):
            if f": {name}] Error " in part:
                text = part
                break
        lines = re.findall(
            r"^(?:FATAL|.*\b[Ee]rror\b|.*undefined reference|.*-[FS]-\d{4}-).*",
            text,
            re.MULTILINE,
        )
        return (
            f"{quoted(lines[0] if lines else 'no error is printed', 200)}; see {path}"
        )

    def resolved(self, suite, folder):
        """Return the folder of a suite's programs with its shell variables as they were in the build; None if
        unset."""
        path = Path(self.stagedir) / f"{suite}{FOLDER}"
        text = path.read_text().strip() if path.exists() else ""
        return (text or None) if "$" in folder else folder


class SpackPackage(Build):
    """One package of `spack-envs`, built by Spack once for each environment, in a copy of its Spack
    environment.

    The install tree is outside of the stage folder and stays. `fabric-checks spack build` does the work and
    can be called by hand; what fails there is this test's own message.
    """

    #: The name of the package in `spack-envs`.
    #:
    #: :type: :class:`str`
    #: :default: required
    package = variable(str)

    #: The suite that it provides; a feature of the environment.
    #:
    #: :type: :class:`str`
    #: :default: required
    suite = variable(str)

    sourcesdir = None
    build_system = "CustomBuild"
    build_time_limit = "3h"

    @property
    def folder(self):
        """The copy of the Spack environment."""
        return Path(self.stagedir) / "environment"

    @property
    def view(self):
        """The folder that links everything that was built, for the dependents to use by its absolute path."""
        return self.folder / ".spack-env/view"

    @property
    def from_spack(self):
        """Whether this environment has the suite built by Spack; others of the system may have it from
        elsewhere."""
        return (
            EnvironExtras.of(self.current_environ).programs[self.suite]["stack"]
            == "spack"
        )

    @run_before("compile")
    def call_spack(self):
        """Leave a failure to the sanity function, which can give its cause."""
        if not self.from_spack:
            self.build_system.commands = ["true"]
            return
        scopes = EnvironExtras.of(self.current_environ).spack
        options = [f"--{name}={scopes[name]}" for name in ("environ", "site", "common")]
        fabric_checks = [sys.executable, str(ROOT / "ci/bin/fabric-checks")]
        command = [
            *fabric_checks,
            "spack",
            "build",
            self.package,
            *options,
            str(self.folder),
        ]
        # The first build takes minutes, and ReFrame prints nothing until it is done.
        log = Path(self.stagedir) / self.build_job.stdout
        getlogger().info(
            f"{self.package} for {self.current_environ.name} by Spack; to follow it: tail -f {log}"
        )
        self.build_system.commands = [f"{shlex.join(command)} 2> failure.txt || true"]

    @sanity_function
    def is_built(self):
        """Fail with the error message of the build."""
        if self.from_spack and not (self.folder / "built.json").exists():
            path = Path(self.stagedir) / "failure.txt"
            message = path.read_text(errors="replace").strip() if path.exists() else ""
            raise SanityError(
                message.removeprefix("error: ")
                or f"the build ended without a message; see {self.stagedir}"
            )
        return True

    @property
    def built(self):
        """The facts of the build; :class:`fabric_checks.software.spack.lock.Built` has the keys."""
        return json.loads((self.folder / "built.json").read_text())

    def note(self, facts):
        """Note what goes into the records of everything that was measured with it."""
        built = self.built
        facts.program_version, facts.spack = built["version"], built["spack"]
        facts.spec, facts.spec_hash = built["spec"], built["hash"]

    def contradiction(self, reported):
        """Return a message if the MPI library at run time contradicts the spec, or None; see
        :mod:`..spack.lock`.

        :param reported: the first line of ``MPI_Get_library_version``.
        """
        from fabric_checks.software.spack import lock  # noqa: PLC0415  (a listing needs none)

        return lock.contradiction(self.built["mpi"], reported)


def built_by_spack(name):
    """Return a fixture that builds a suite, if some environment of the current system has it from Spack.

    :param name: the name of the suite; the fixture is named after its package.
    """
    for partition in runtime().system.partitions:
        for environ in partition.environs:
            if EnvironExtras.of(environ).programs.get(name, {}).get("stack") == "spack":
                return fixture(_package_of(name), scope="environment")
    return None


@cache
def _package_of(name):
    """Return the fixture's class: one for all checks of a suite, so that it is built once."""
    from fabric_checks.software.suites import SUITES  # noqa: PLC0415  (only where Spack builds)

    suite = SUITES[name]
    body = {
        "descr": f"Build {suite.title} by Spack",
        "package": suite.package.name,
        "suite": suite.name,
    }
    words = suite.package.name.split("-")
    return make_test(
        "".join(map(str.capitalize, words)), (SpackPackage,), body, module=__name__
    )
