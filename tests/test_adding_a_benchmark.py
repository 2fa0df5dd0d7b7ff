# SPDX-License-Identifier: BSD-3-Clause
"""The steps of docs/adding-a-benchmark.md, done word by word in a copy of the collection."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.core.paths import ROOT
from tests import builders, programs

REFRAME = Path(sys.executable).with_name("reframe")
BLOCK = re.compile(
    r"^`(?P<path>[\w./-]+)`:\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COPIED = (
    "checks",
    "config",
    "docs",
    "perflogs-templates",
    "src",
    "tests",
    "spack-envs",
    "ci",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the collection in which the page was followed, and the page's blocks by file."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in COPIED:
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "golden", ".fabric"),
        )
    (folder / "tests/golden").symlink_to(ROOT / "tests/golden")
    blocks = {
        found["path"]: found
        for found in BLOCK.finditer((ROOT / "docs/adding-a-benchmark.md").read_text())
    }
    for path, block in blocks.items():
        if block["kind"] == "diff":
            subprocess.run(
                ["git", "apply", "--unidiff-zero", "-"],
                cwd=folder,
                input=block["text"],
                text=True,
                check=True,
            )
        else:
            assert not (folder / path).exists()
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(block["text"])
    return folder, blocks


def run(folder, *command, **variables):
    """Run a command in the copy, with the copy's library."""
    env = os.environ | {"PYTHONPATH": str(folder / "src")} | variables
    return programs.run(command, cwd=folder, env=env)


def test_the_suite_is_three_files(copy):
    code = [path for path in copy[1] if path.startswith(("src/", "checks/"))]
    assert len(code) == 3
    assert set(copy[1]) - set(code) == {
        "config/environments/wheels.py",
        "docs/checks.md",
    }
    assert "| `RingTest` |" in (copy[0] / "docs/checks.md").read_text()


def test_the_files_pass_format_lint_and_types(copy):
    folder, blocks = copy
    files = [path for path in blocks if path.endswith(".py")]
    library = [path for path in files if path.startswith("src/fabric_checks")]
    for command in (
        ["ruff", "format", "--check", *files],
        ["ruff", "check", *files],
        ["mypy", *library],
    ):
        done = run(folder, sys.executable, "-m", *command)
        assert done.returncode == 0, done.stdout + done.stderr


OUTPUT = "time for 1000 loops = 0.00284 seconds (4 processes, 8 bytes)\n"
PARSE = """
import sys
from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import ringtest
try:
    print(ringtest.parse(sys.argv[1], 1000, 4, 8))
except OutputError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize(
    "text, answer",
    [
        (OUTPUT, "0.00284"),
        ("", "refused: no line 'time for"),
        (OUTPUT * 2, "refused: 2 times the line"),
    ],
)
def test_the_parser_reads_its_output_and_refuses_a_broken_one(copy, text, answer):
    assert run(copy[0], sys.executable, "-c", PARSE, text).stdout.startswith(answer)


@pytest.fixture(scope="module")
def results(copy, tmp_path_factory):
    """Return the folder of results of two runs of the check."""
    folder = tmp_path_factory.mktemp("results")
    reframe = [str(REFRAME), "-C", "config/settings.py", "-c", "checks", "-R"]
    for _ in range(2):
        chosen = ["--system", "local", "-n", "RingTest%layout=1x2", "-r"]
        done = run(
            copy[0], *reframe, *chosen, FABRIC_RESULTS=str(folder), FABRIC_MPI="mpich"
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def records(results):
    return builders.records_in(results / "perflogs/local/node/RingTest.jsonl")


def test_the_check_runs_and_leaves_its_records(results):
    for record in records(results):
        assert record["metric"] == "hop_time"
        assert record["unit"] == "us"
        assert record["program"] == "ringtest"
        assert record["value"] > 0
        assert record["stack"] == "wheels"
        assert record["layout"] == "1x2"
        assert record["family"] == "Pairs of processes" and record["one_way"] is False
        headline = record["headline"]
        assert headline["title"] == "hop around a ring"
        assert headline["section"] == "All processes"
        assert headline["order"] == 25


def command(copy, results, *words):
    """Return the output of a command of the collection on the results."""
    done = run(
        copy[0],
        sys.executable,
        "-m",
        "fabric_checks",
        *words,
        FABRIC_RESULTS=str(results),
        FABRIC_MPI="mpich",
    )
    assert not done.stderr.startswith("error"), done.stderr
    return done.stdout + done.stderr


def test_it_is_on_the_screen_and_in_the_report(copy, results, tmp_path):
    assert "hop around a ring" in command(copy, results, "show", "--short")
    command(copy, results, "report", "-o", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text()
    assert "hop around a ring" in page
    assert "RingTest" in page.partition('id="pairs-of-processes"')[2]


def test_it_is_compared_and_references_are_proposed(copy, results):
    first, second = dict.fromkeys(record["session"] for record in records(results))
    perflogs = results / "perflogs"
    text = command(
        copy,
        results,
        "compare",
        f"a={perflogs},session={first}",
        f"b={perflogs},session={second}",
    )
    assert "RingTest" in text and "hop_time" in text
    text = command(
        copy, results, "references", "propose", "--system", "local", "--min-passes", "2"
    )
    assert "+RingTest:" in text and "hop_time: [" in text


def test_an_environment_without_it_has_a_reason(copy):
    ask = (
        "import runpy;"
        " print(runpy.run_path('config/systems/twins.py')['environments'][0]['extras']['without'])"
    )
    done = run(copy[0], sys.executable, "-c", ask)
    assert "'ringtest': 'the environment does not name it'" in done.stdout, done.stderr
