# SPDX-License-Identifier: BSD-3-Clause
"""Clean checkouts as a pipeline gets them, and a cluster of two nodes on whose head its runner is."""

import os
import shutil
import sys

import pytest

from tests import programs
from tests.cluster.conftest import Cluster, machine  # noqa: F401  (a fixture)
from tests.conftest import ROOT
from tests.homes import checkout, linked

#: The shortest case between two nodes.
ONE_CASE = "-n ^ImbBarrier%layout=2x1$"
NIGHT = {"summary.md", "junit.xml", "report.html", "run.log", "night.json"}


class Runner:
    """Run a pipeline's steps, with the environment that it gives them and no other."""

    def __init__(self, clone, results, cluster=None):
        self.clone, self.results, self.cluster = clone, results, cluster
        self.variables = {
            "PATH": os.environ["PATH"], "HOME": str(results), "CI": "true",
            "FABRIC_HOME": str(clone.parent / "home"), "FABRIC_RESULTS": str(results),
            "FABRIC_SYSTEM": "minicluster", "FABRIC_NIGHTLY_OPTIONS": ONE_CASE,
            # The Python that the home is for need not be the first on PATH.
            "FABRIC_PYTHON": sys.executable,
        } | {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}  # fmt: skip
        results.mkdir(exist_ok=True)

    def __call__(self, command, **variables):
        """Run a command in the checkout, on the head of the cluster if there is one."""
        if self.cluster:
            command = self.cluster.line_on("head", *command)
        line, env = [str(part) for part in command], self.variables | variables
        return programs.run(line, cwd=self.clone, env=env)

    def keep_only(self, names):
        """Forget all variables but these."""
        self.variables = {
            name: value for name, value in self.variables.items() if name in names
        }

    def gitlab(self, script, **variables):
        """Run a job's script as the shell executor does."""
        return self(
            ["bash", "-eo", "pipefail", "-c", script], GITLAB_CI="true", **variables
        )

    def github(self, script, **variables):
        """Run a step with `shell: bash`."""
        files = {
            name: str(self.results / name)
            for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        return self(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            **files,
            **variables,
        )

    @property
    def kept(self):
        """The names of the files that the pipeline keeps."""
        return {path.name for path in (self.clone / "night").glob("*")}

    def written(self, name):
        """Return the text of a file that a step of GitHub writes."""
        return (self.results / name).read_text()


@pytest.fixture(scope="session")
def clean(tmp_path_factory):
    """Return a clean checkout, next to a home."""
    clone = checkout(tmp_path_factory.mktemp("checkout") / "clone")
    linked(clone.parent / "home")
    return clone


@pytest.fixture(scope="session")
def two_nodes(machine):  # noqa: F811  (the fixture)
    """A cluster of two nodes."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--rate", "1gbit")
    yield cluster
    cluster("down")


@pytest.fixture
def runner(clean, two_nodes, tmp_path):
    """A runner on the head of the cluster."""
    shutil.rmtree(clean / "night", ignore_errors=True)
    return Runner(clean, tmp_path / "results", two_nodes)


@pytest.fixture
def stand_in(tmp_path):
    """Return a runner in a checkout whose ci/nightly is a stand-in that ends with NIGHT_ENDS."""
    clone = tmp_path / "clone"
    (clone / "ci").mkdir(parents=True)
    shutil.copytree(ROOT / "ci/pipelines", clone / "ci/pipelines")
    (clone / "ci/env.sh").write_text("echo setting up\n")
    nightly = clone / "ci/nightly"
    nightly.write_text(
        "#!/usr/bin/env bash\n"
        'printf "%s\\n" "$@" > ../arguments\n'
        "[ $NIGHT_ENDS -eq 1 ] && { echo 'error: it broke' >&2; exit 1; }\n"
        "folder=$FABRIC_RESULTS/nightly/$FABRIC_SYSTEM/tonight; mkdir -p $folder\n"
        "echo found > $folder/report.html; ln -sfn tonight ${folder%/*}/latest\n"
        "echo '# one finding' > $folder/summary.md; echo 'one finding'; exit $NIGHT_ENDS\n"
    )
    nightly.chmod(0o755)
    return Runner(clone, tmp_path / "results")
