# SPDX-License-Identifier: BSD-3-Clause
"""Each file as the programs that take it, or their publishers' own checkers, see it."""

import os
import re
import shutil
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner
from cronsim import CronSim

from fabric_checks.cli import nightly
from tests import programs
from tests.conftest import ROOT
from tests.pipelines import steps

BIN = Path(sys.executable).parent
#: Its wheel is for x86_64 only.
SHELLCHECK = shutil.which("shellcheck", path=f"{BIN}:{os.environ['PATH']}")
needs_shellcheck = pytest.mark.skipif(
    SHELLCHECK is None, reason="shellcheck is not here: apt-get install shellcheck"
)
#: In rough order of how much the unit may do; systemd calls up to 5 medium. What is left of it is named in
#: the unit.
EXPOSURE = 2.5


def check(*command, **options):
    """Run a checker, which has to be content."""
    done = programs.succeed([str(part) for part in command], **options)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "path", [*steps.GITLAB, *steps.GITHUB], ids=lambda path: path.name
)
def test_published_schemas(path):
    """check-jsonschema brings them along."""
    schema = "vendor.gitlab-ci" if path in steps.GITLAB else "vendor.github-workflows"
    check(BIN / "check-jsonschema", "--builtin-schema", schema, path)


@pytest.mark.parametrize("path", steps.GITHUB, ids=lambda path: path.name)
def test_workflows_are_safe(path):
    """By zizmor: rights, secrets, text put into scripts, unpinned actions, credentials that are left
    behind."""
    check(BIN / "zizmor", "--offline", "--no-config", "--persona=pedantic", path)


@needs_shellcheck
@pytest.mark.parametrize("file, name", steps.scripts())
def test_scripts_by_shellcheck(file, name):
    script = steps.scripts()[file, name]
    # A finding of a whole: sourced files are checked by themselves. cron and systemd split one variable into
    # words.
    left_out = "SC1091" + (
        ",SC2086" if file in (steps.CRONTAB.name, steps.SERVICE.name) else ""
    )
    check(SHELLCHECK, "--shell=bash", f"--exclude={left_out}", "-", input=script)


def test_scripts_call_programs_and_options_that_exist():
    calls = re.findall(r"(?:^|\s)(ci/[\w/-]+)((?: --[\w-]+| \"\$\w+\")*)(?!\S*\.)", "\n".join(
        text.replace(f"{steps.CLONE}/", "") for text in steps.scripts().values()
    ))  # fmt: skip
    assert {program for program, _ in calls} == {
        "ci/nightly",
        "ci/pipelines/night",
        "ci/test",
    }
    for program, options in calls:
        assert (ROOT / program).stat().st_mode & 0o111, program
        known = (ROOT / program).read_text() + CliRunner().invoke(
            nightly.command, ["--help"]
        ).output
        for option in re.findall(r"--[\w-]+", options):
            assert re.search(rf"{option}(?![\w-])", known), (program, option)


@needs_shellcheck
@pytest.mark.parametrize(
    "script", ["ci/pipelines/night", "ci/nightly", "ci/run", "ci/test", "ci/env.sh"]
)
def test_the_scripts_they_call_pass_shellcheck(script):
    check(
        SHELLCHECK,
        "--shell=bash",
        "--severity=warning",
        "--exclude=SC1090,SC1091",
        ROOT / script,
    )


def test_units_by_systemd(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip(
            "the units are checked by systemd-analyze, which is not here (Debian: apt install systemd)"
        )
    units = [tmp_path / path.name for path in (steps.SERVICE, steps.TIMER)]
    for unit in units:  # as an operator copies them, with a clone that exists
        unit.write_text(
            (steps.PIPELINES / unit.name).read_text().replace(steps.CLONE, str(ROOT))
        )
    # What it has to say is an error or a warning, whatever its status.
    assert steps.Unit(steps.SERVICE)["Service"]["User"] not in ("", "root", "0")
    assert check("systemd-analyze", "--man=no", "verify", *units) == ""
    threshold = f"--threshold={round(EXPOSURE * 10)}"
    check(
        "systemd-analyze",
        "security",
        "--offline=true",
        "--no-pager",
        threshold,
        units[0],
    )
    calendar = steps.Unit(steps.TIMER)["Timer"]["OnCalendar"]
    output = check("systemd-analyze", "calendar", calendar)
    assert re.search(r"Next elapse: .* 01:17:00", output)


def test_the_crontab_is_of_one_night_a_day():
    """By the published order of a line."""
    _, ((schedule, _),) = steps.crontab()
    nights = CronSim(schedule, datetime(2026, 3, 1, tzinfo=timezone.utc))
    first, second = next(nights), next(nights)
    assert first.hour == 1
    assert second - first == timedelta(days=1)


@pytest.mark.parametrize(
    "path", sorted(steps.PIPELINES.iterdir()), ids=lambda path: path.name
)
def test_nothing_secret_and_nothing_traced(path):
    text = path.read_text()
    assert not re.search(r"set -\w*x|xtrace|CI_DEBUG_TRACE|ACTIONS_STEP_DEBUG", text)
    assert not re.search(r"(?i)(password|token|secret)\s*[:=]\s*['\"]?\w", text)
    assert "secrets." not in text
    assert not re.search(
        r"(?m)^\s*image:", text
    )  # none is used; one would have to be pinned by its digest
