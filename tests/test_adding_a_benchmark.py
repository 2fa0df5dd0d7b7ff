# SPDX-License-Identifier: BSD-3-Clause
"""What docs/adding-a-benchmark.md says, done word by word in a copy of the collection."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.core.paths import ROOT
from tests.guard import GUARD_S

REFRAME = Path(sys.executable).with_name("reframe")
BLOCK = re.compile(r"^`(?P<path>[\w./-]+)`:\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = ("checks", "config", "docs", "src", "tests", "pyproject.toml", "spack-envs", "ci")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the collection in which the page was followed, and the page's blocks by file."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "golden", ".fabric")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored) if (ROOT / name).is_dir() else shutil.copy(
            ROOT / name, folder / name
        )
    (folder / "tests" / "golden").symlink_to(ROOT / "tests" / "golden")
    blocks = {found["path"]: found for found in BLOCK.finditer((ROOT / "docs/adding-a-benchmark.md").read_text())}
    for path, block in blocks.items():
        if block["kind"] == "diff":
            subprocess.run(["git", "apply", "-"], cwd=folder, input=block["text"], text=True, check=True)
        else:
            assert not (folder / path).exists()
            (folder / path).write_text(block["text"])
    return folder, blocks


def run(folder, *command, **variables):
    """Run a command in the copy, with the copy's library."""
    env = os.environ | {"PYTHONPATH": str(folder / "src")} | variables
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=GUARD_S, check=False)


def test_it_touches_six_files(copy):
    assert len(copy[1]) == 6


def test_the_files_are_as_the_others_are(copy):
    folder, blocks = copy
    files = [path for path in blocks if path.endswith(".py")]
    library = [path for path in files if path.startswith("src/fabric_checks")]
    for command in (["ruff", "format", "--check", *files], ["ruff", "check", *files], ["mypy", *library]):
        done = run(folder, sys.executable, "-m", *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_parsers_test_passes(copy, tmp_path):
    line = ["pytest", "-q", f"--basetemp={tmp_path / 'pytest'}", "tests/parsers/test_ringtest.py"]
    done = run(copy[0], sys.executable, "-m", *line)
    assert done.returncode == 0 and "9 passed" in done.stdout, done.stdout + done.stderr


def test_the_check_runs_and_leaves_its_records(copy, tmp_path):
    reframe = [str(REFRAME), "-C", "config/settings.py", "-c", "checks", "-R"]
    chosen = ["--system", "local", "-n", "RingTest%layout=1x2", "-r"]
    done = run(copy[0], *reframe, *chosen, FABRIC_RESULTS=str(tmp_path), FABRIC_MPI="mpich")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (tmp_path / "perflogs/local/node/RingTest.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["metric"], record["unit"], record["program"]) == ("hop_time", "us", "ringtest")
    assert record["value"] > 0 and record["stack"] == "wheels" and record["layout"] == "1x2"


def test_who_does_not_have_it_says_so(copy):
    """The suite is known to all environments as soon as it is declared."""
    ask = "import runpy; print(runpy.run_path('config/systems/twins.py')['environments'][0]['extras']['without'])"
    done = run(copy[0], sys.executable, "-c", ask)
    assert "'ringtest': 'the environment does not name it'" in done.stdout, done.stderr
