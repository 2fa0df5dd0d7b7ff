# SPDX-License-Identifier: BSD-3-Clause
"""Whole sessions: the real reframe, and what is left of them."""

import os
import subprocess
import sys
from pathlib import Path

from fabric_checks.core.paths import home
from fabric_checks.records import runs
from tests import programs
from tests.conftest import FABRIC_CHECKS, ROOT
from tests.guard import GUARD_S

REFRAME = Path(sys.executable).with_name("reframe")
CHECKS = ROOT / "checks"
NAME = "20260101T000000Z-test"


def environment(results, **more):
    """Return the environment of a session: of the variables of ours, of ReFrame and of Slurm with these
    alone."""
    of_others = ("FABRIC_", "RFM_", "SLURM_")
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(of_others)
    }
    return env | {"FABRIC_HOME": str(home()), "FABRIC_RESULTS": str(results)} | more


def call(program, results, *options, suites=(".",), **more):
    """Call ReFrame, or what takes its options, on the checks with the shipped settings; of our variables with
    these."""
    env = environment(results, FABRIC_MPI="mpich") | more
    settings = ROOT / "config/settings.py"
    return programs.run(
        [*program, "-C", settings, *_of_suites(suites), *options], env=env
    )


def _of_suites(suites):
    """Return ReFrame's options for checks: those of one suite are loaded sooner than all."""
    return [word for suite in suites for word in ("-c", CHECKS / suite)]


def dry_run(folder, settings, *options, suites=(".",)):
    """Write job scripts below a folder, by settings of a site's own."""
    (folder / "settings.py").write_text(settings)
    own = {"RFM_COLORIZE": "no", "RFM_REFERENCE_PREFIX": str(folder)}
    env = environment(folder, PYTHONPATH=f"{ROOT}:{ROOT}/src", **own)
    line = [
        REFRAME,
        "-C",
        folder / "settings.py",
        *_of_suites(suites),
        "-R",
        "--dry-run",
        *options,
    ]
    return programs.run(line, env=env, cwd=folder)


class Run:
    """A session of reframe, which has begun.

    :param suites: the folders, or modules, that checks are loaded from.
    :param before: what comes before the command of ReFrame. :param env, more: its variables.
    """

    def __init__(
        self,
        results,
        *arguments,
        settings,
        suites=(".",),
        before=(),
        name=NAME,
        env=os.environ,
        **more,
    ):
        self.results, self.name = results, name
        of_run = {
            "FABRIC_RESULTS": str(results),
            "FABRIC_SESSION": name,
            "FABRIC_MPI": "mpich",
        }
        self.env = env | of_run | more
        chosen = [*_of_suites(suites), *arguments]
        command = [*before, REFRAME, "-C", settings, *chosen, "-r"]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(
            command, env=self.env, cwd=ROOT, text=True, **pipe
        )

    def wait(self):
        """Wait for the end; keep status and output, what the session left, and what ``fabric-checks show``
        prints."""
        self.output, _ = self.process.communicate(timeout=GUARD_S)
        self.status = self.process.returncode
        self.session = runs.load_session(self.results, self.name)
        show = [FABRIC_CHECKS, "show", "--session", self.name, "--gate"]
        done = programs.run(show, env=self.env)
        self.gate, self.shown = done.returncode, done.stdout + done.stderr
        return self

    @property
    def reasons(self):
        """Return the reasons of the cases that failed."""
        return [case.reason for case in self.session.cases if case.result == "fail"]
