# SPDX-License-Identifier: BSD-3-Clause
"""The oldest ReFrame that is promised, and the newest there is: the catalogue, job scripts, a run; and one too old.

Each is installed by pip, alone, and stands before the one of the test environment, which has all else that it needs.
"""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext.internals import OLDEST
from tests.checks import job_scripts
from tests.guard import GUARD_S

#: By what a version is to be called; what pip is told.
VERSIONS = {"oldest": f"reframe-hpc=={OLDEST}", "newest": "reframe-hpc"}
TOO_OLD = f"reframe-hpc<{OLDEST}"
#: What pip says where there is no package index.
NO_INDEX = next(
    signs
    for signs, meaning in runpy.run_path(str(ROOT / "ci" / "setup.py"))["_PIP_CAUSES"]
    if "index cannot be reached" in meaning
)
REFERENCES = """
no_reference: [{why: only one is held to anything here}]
OsuLatency:
  $index: [layout]
  1x2: {latency_8B: [100000, -0.1, 0.1, us]}
"""


class ReFrame:
    """A ReFrame, as `reframe` of the test environment is with another one before it on the search path."""

    def __init__(self, folder, requirement=None):
        self.folder = folder
        self.path = os.pathsep.join([*([str(folder / "reframe")] if requirement else []), str(ROOT)])
        if requirement:
            self._install(requirement)
        self.version = self("-V").stdout.strip()

    def _install(self, requirement):
        options = ["--quiet", "--no-deps", "--no-cache-dir", "--no-compile", "--retries=1"]
        options += [f"--target={self.folder / 'reframe'}"]
        done = self._python("-m", "pip", "--disable-pip-version-check", "install", *options, requirement)
        if done.returncode and any(sign in done.stderr for sign in NO_INDEX):
            pytest.skip(f"no package index to take {requirement} from: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        needs = self._python("-m", "pip", "check").stdout
        assert not re.findall("^reframe.*", needs, re.MULTILINE), f"the test environment has not what it needs: {needs}"

    def _python(self, *arguments, **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("FABRIC_", "RFM_"))}
        env |= {"FABRIC_HOME": str(home()), "FABRIC_RESULTS": str(self.folder / "results"), "FABRIC_MPI": "mpich"}
        env |= {"PYTHONPATH": self.path, "RFM_COLORIZE": "no"} | variables
        return subprocess.run(
            [sys.executable, *arguments], env=env, cwd=self.folder, capture_output=True, text=True, timeout=GUARD_S
        )

    def __call__(self, *options, **variables):
        where = ["-C", ROOT / "config/settings.py", "-c", ROOT / "checks"]
        return self._python(Path(sys.executable).with_name("reframe"), *where, *options, **variables)

    def listed(self):
        """Return the names of the cases on this machine, with what they depend on."""
        done = self("--system=local", "-lC")
        assert done.returncode == 0, done.stdout + done.stderr
        return re.findall(r"^ *[-^] ?(\S.*) /\w{8} @(\S+)$", done.stdout, flags=re.MULTILINE)


@pytest.fixture(scope="module", params=VERSIONS)
def other(request, tmp_path_factory):
    return ReFrame(tmp_path_factory.mktemp(request.param), VERSIONS[request.param])


def test_it_is_the_one_that_was_asked_for(other):
    imported = other._python("-c", "import reframe; print(reframe.__file__)").stdout
    assert imported.startswith(str(other.folder))
    assert OLDEST in VERSIONS["oldest"]
    if other.folder.name.startswith("oldest"):
        assert other.version == OLDEST


def test_it_lists_the_same_catalogue(other, tmp_path):
    found = other.listed()
    assert len(found) > 100
    assert found == ReFrame(tmp_path).listed()


def test_its_job_scripts_are_the_same(other, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", other.path)
    found = job_scripts.dry_run("generic_slurm", tmp_path)
    assert found
    for where, scripts in job_scripts.by_place(found).items():
        assert job_scripts.as_text(scripts) == job_scripts.path_of("generic_slurm", where).read_text()


@pytest.mark.parametrize("options", [("--system=local", "-n^Osu.*%layout=1x2"), ("--system=cbc", "-n^Streaming")])
def test_it_runs_dry(other, options):
    done = other(*options, "--dry-run")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    ((ran, of),) = re.findall(r"PASSED.* Ran (\d+)/(\d+) test case", done.stdout)
    assert ran == of and int(ran) > 10


def test_it_runs_and_names_the_metric_that_misses_its_reference(other):
    (other.folder / "local.yaml").write_text(REFERENCES)
    names = ("-n", r"^OsuBarrier%layout=1x2$", "-n", r"^OsuLatency%layout=1x2$")
    done = other("--system=local", *names, "-r", RFM_REFERENCE_PREFIX=str(other.folder))
    assert re.search(r"\[ +OK \] .* OsuBarrier %layout=1x2 ", done.stdout), done.stdout + done.stderr
    assert re.search(r"\[ +FAIL \] .* OsuLatency %layout=1x2 ", done.stdout), done.stdout
    assert re.findall(r"failed to meet reference\(s\): (\w+)=", done.stdout) == ["latency_8B"]


def test_one_that_is_too_old_says_so(tmp_path):
    old = ReFrame(tmp_path, TOO_OLD)
    done = old("-l")
    assert done.returncode != 0
    line = f"this is ReFrame {old.version}, and {OLDEST} or later is needed"
    assert line in done.stdout + done.stderr and "Traceback" not in done.stdout + done.stderr


def test_what_is_promised_is_what_is_tested():
    promised = f"reframe-hpc~={OLDEST}"
    assert f'"{promised}"' in (ROOT / "pyproject.toml").read_text()
    assert f"ReFrame {OLDEST}" in (ROOT / "README.md").read_text()
