# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is run in one clone is of that clone, although the shell has sourced another's ci/env.sh."""

import os
import sys

import pytest

from fabric_checks.core.paths import ROOT
from tests import programs
from tests.homes import checkout

#: Variables of a shell that has sourced this clone's ci/env.sh, without the home, which the tests may have
#: set.
SOURCED = {
    "PYTHONPATH": str(ROOT / "src"), "RFM_CONFIG_FILES": f"{ROOT}/config/settings.py",
    "FABRIC_PATH": f"{ROOT}/ci/bin:{sys.prefix}/bin",
    "PATH": f"{ROOT}/ci/bin:{sys.prefix}/bin:{os.environ['PATH']}",
}  # fmt: skip


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another clone, with a library of another version."""
    clone = checkout(tmp_path_factory.mktemp("other") / "clone")
    text = (clone / "src/fabric_checks/__init__.py").read_text()
    (clone / "src/fabric_checks/__init__.py").write_text(
        text.replace('__version__ = "', '__version__ = "99.')
    )
    file = clone / "config/systems/local.py"
    file.write_text(
        "from fabric_checks import __version__\n"
        + file.read_text().replace('"Any one machine"', "__version__", 1)
    )
    return clone


def run(*command, **more):
    line, env = [str(word) for word in command], os.environ | SOURCED
    return programs.run(line, env=env, **more)


def test_its_command(other):
    assert run("fabric-checks", "--version").stdout.startswith(
        "fabric-checks, version 0."
    )
    assert run(other / "ci/bin/fabric-checks", "--version").stdout.startswith(
        "fabric-checks, version 99.0."
    )
    home = {
        "FABRIC_HOME": "/sourced/.fabric",
        "FABRIC_DEFAULT_HOME": "/sourced/.fabric",
        "FABRIC_RESULTS": "",
    }
    said = programs.run(
        [other / "ci/bin/fabric-checks", "show"], env=os.environ | SOURCED | home
    ).stderr
    assert f"{other}/.fabric/results: no run has left results here" in said
    # A ReFrame that it starts loads its own configuration.
    done = run(
        other / "ci/bin/fabric-checks", "references", "check", "--system", "local"
    )
    assert "another clone's" not in done.stdout + done.stderr


def test_its_configuration(other, tmp_path):
    done = run(
        "reframe", "-C", other / "config/settings.py", "--system", "local",
        "--show-config=systems/@local/descr", cwd=tmp_path,
    )  # fmt: skip
    assert '"99.0.' in done.stdout, done.stdout + done.stderr


def test_its_configuration_takes_nothing_away(other, tmp_path):
    """ReFrame undoes by position what it has done to sys.path; the last entry was lost, which has all
    packages."""
    script = (
        "import sys\n"
        "from reframe.core.config import load_config\n"
        "before = list(sys.path)\n"
        f"load_config('<builtin>', '{other}/config/settings.py')\n"
        "assert sys.path == before, sys.path\n"
        "import fabric_checks; print(fabric_checks.__version__)\n"
    )
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    assert done.stdout.startswith("99."), done.stderr


def test_two_configurations_are_not_mixed(other, tmp_path):
    script = (
        "from reframe.core.config import load_config\n"
        f"import fabric_checks; load_config('<builtin>', '{other}/config/settings.py')\n"
    )
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    assert (
        f"the library in use belongs to another clone, {ROOT}/src/fabric_checks"
        in done.stderr
    )


def test_its_checks_with_its_configuration(other, tmp_path):
    done = run(
        "reframe",
        "-C",
        other / "config/settings.py",
        "-c",
        other / "checks",
        "-n",
        "OsuBarrier",
        "-l",
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "OsuBarrier" in done.stdout, (
        done.stdout + done.stderr
    )


def test_its_checks_with_the_configuration_of_the_one_that_was_sourced(other):
    done = run("reframe", "-c", "checks", "-l", cwd=other)
    assert done.returncode == 1
    wrong = (
        f"error: these checks belong to {other}, but the configuration belongs to {ROOT}: source"
        f" {other}/ci/env.sh"
    )
    assert wrong in done.stderr, done.stdout + done.stderr
