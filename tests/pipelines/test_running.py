# SPDX-License-Identifier: BSD-3-Clause
"""The steps of pipelines, taken out of their files: on a cluster of two nodes, and with a stand-in of
ci/nightly."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.conftest import TESTS
from tests.pipelines import steps
from tests.pipelines.conftest import NIGHT

#: Variables that cron and systemd give a program, and those that only the tests need.
ALWAYS = ("HOME", "TMPDIR", "PYTHONPATH", "FABRIC_PYTHON")


def test_gitlab(runner):
    """Its script is the one of GitHub and Jenkins too."""
    (script,) = steps.gitlab(steps.PIPELINES / "gitlab.yml").values()
    done = runner.gitlab(script, FABRIC_LEVEL="nightly", CI_PIPELINE_ID="7")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 case ran, 1 passed; 1 value" in done.stdout
    assert runner.kept >= NIGHT
    assert json.loads((runner.clone / "night/night.json").read_text())["cases"] == 1
    assert (runner.clone / "night/summary.md").read_text().startswith("# minicluster, ")


def test_cron(runner):
    """Quiet: cron would send what is printed."""
    variables, ((_, command),) = steps.crontab()
    assert variables["FABRIC_HOME"] == steps.HOME and steps.CLONE in command
    set_here = {
        key: runner.variables[key] for key in variables if key.startswith("FABRIC_")
    }
    set_here |= {"FABRIC_RESULTS": str(runner.results)}
    # Cron gives these and no others.
    runner.keep_only(ALWAYS)
    done = runner(
        [variables["SHELL"], "-c", command.replace(steps.CLONE, str(runner.clone))],
        **variables | set_here,
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == ""
    latest = runner.results / "nightly/minicluster/latest"
    assert json.loads((latest / "night.json").read_text())["cases"] == 1
    assert {path.name for path in latest.glob("*")} >= NIGHT


def groovy(runner, **variables):
    """Run the Jenkinsfile with stand-ins for Jenkins's steps."""
    java = shutil.which("java")
    home = os.environ.get("JAVA_HOME") or (
        java and str(Path(java).resolve().parents[1])
    )
    if shutil.which("groovy") is None or home is None:
        pytest.skip(
            "the Jenkinsfile is run by Groovy, which is not here (Debian: apt install groovy)"
        )
    return runner(
        ["groovy", TESTS / "pipelines/jenkins.groovy", steps.JENKINS],
        JAVA_HOME=home,
        **variables,
    )


@pytest.mark.parametrize("ends", [0, 1, 3, 4])
class TestHowANightEnds:
    """Quiet, failed, with a finding, and blind, by a stand-in of ci/nightly."""

    def test_gitlab(self, stand_in, ends):
        path = steps.PIPELINES / "gitlab.yml"
        (script,) = steps.gitlab(path).values()
        assert stand_in.gitlab(script, NIGHT_ENDS=str(ends)).returncode == ends
        job = yaml.safe_load(path.read_text())["night"]
        assert (ends in job["allow_failure"]["exit_codes"]) == (ends in (3, 4))
        assert ("report.html" in stand_in.kept) == (ends != 1)
        assert "setting up" not in (stand_in.clone / "night/summary.md").read_text()

    def test_github(self, stand_in, ends):
        night, found = steps.github(steps.PIPELINES / "github.yml").values()
        done = stand_in.github(night, NIGHT_ENDS=str(ends))
        # A finding fails the step that says so, a failed night its own.
        assert done.returncode == (1 if ends == 1 else 0)
        assert stand_in.written("GITHUB_OUTPUT") == f"status={ends}\n"
        summary = stand_in.written("GITHUB_STEP_SUMMARY")
        assert ("error: it broke" if ends == 1 else "# one finding") in summary
        done = stand_in.github(found)
        assert done.returncode == 3 and done.stdout.startswith("::error title=")

    def test_jenkins(self, stand_in, ends):
        done = groovy(stand_in, NIGHT_ENDS=str(ends))
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert (
            lines[-1]
            == {0: "SUCCESS", 1: "FAILURE", 3: "UNSTABLE", 4: "UNSTABLE"}[ends]
        )
        assert {"archive night/**", "junit night/junit.xml"} <= set(lines)


def test_options_reach_the_night_as_words(stand_in, tmp_path):
    """None is expanded by the shell, whatever is in the folder."""
    stand_in.gitlab(
        "ci/pipelines/night",
        NIGHT_ENDS="0",
        FABRIC_NIGHTLY_OPTIONS="-n ^Rotate --exec-policy=* $(id)",
    )
    assert (tmp_path / "arguments").read_text().split("\n")[:-1] == [
        "--level", "nightly", "--system", "minicluster", "--", "-n", "^Rotate", "--exec-policy=*", "$(id)",
    ]  # fmt: skip


def test_the_night_before_is_not_taken_for_tonights(stand_in):
    stand_in.gitlab("ci/pipelines/night", NIGHT_ENDS="0")
    assert "report.html" in stand_in.kept
    # The lock is held: nothing new.
    stand_in.gitlab("ci/pipelines/night", NIGHT_ENDS="1")
    assert stand_in.kept == {"summary.md", "errors.txt"}


@pytest.mark.parametrize(
    "home, arguments, says",
    [
        ("", "", "FABRIC_HOME is not set"),
        (".fabric", "", "FABRIC_HOME is in the checkout, which the pipeline empties"),
        (None, "--level nightly", "unknown argument '--level'"),
        (None, "''", "unknown argument ''"),
    ],
)
def test_a_night_called_wrongly_or_whose_results_would_be_deleted(
    stand_in, home, arguments, says
):
    homes = {} if home is None else {"FABRIC_HOME": home and str(stand_in.clone / home)}
    done = stand_in.gitlab(f"ci/pipelines/night {arguments}", **homes)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {says}")
    assert len(done.stderr.splitlines()) == 1
