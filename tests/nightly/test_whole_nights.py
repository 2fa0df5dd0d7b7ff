# SPDX-License-Identifier: BSD-3-Clause
"""Whole nights on this machine: `ci/nightly` as users call it, with one short case."""

import json
import os
import pty
import re
import subprocess
from datetime import datetime, timedelta

import pytest

from tests import programs
from tests.conftest import ROOT
from tests.guard import GUARD_S

NIGHTLY = ROOT / "ci" / "nightly"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("nights") / "results"


def call(results, *arguments, **environment):
    env = (
        os.environ
        | {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich"}
        | environment
    )
    done = programs.run([NIGHTLY, *arguments], env=env)
    return done.returncode, done.stdout, done.stderr


def latest(results):
    return json.loads((results / "nightly/local/latest/night.json").read_text())


def spend(results, *options):
    """Spend a night with the barrier of two processes."""
    return call(results, *options, "--", "-n", "^OsuBarrier%layout=1x2$")


#: Which system it is need not be asked of ReFrame each time.
HERE = ("--system", "local")


@pytest.fixture(scope="module")
def first(results):
    status, text, errors = spend(results)
    assert (status, errors) == (0, ""), text + errors
    return text


def test_a_night_leaves_its_files(results, first):
    folder = results / "nightly/local/latest"
    text = (folder / "summary.md").read_text()
    # What is printed has no markup; the file is Markdown.
    assert text.startswith(f"# {first.splitlines()[0]}") and "@local" not in text
    assert not any(mark in first for mark in ("&#58;", "**", "\\"))
    assert {path.name for path in folder.iterdir()} == {
        "summary.md", "report.html", "junit.xml", "night.json", "run.log"
    }  # fmt: skip
    assert (latest(results)["cases"], latest(results)["records"]) == (1, 1)


def test_a_night_that_is_judged_again_is_the_same(results, first):
    night = latest(results)
    status, text, _ = call(results, "--session", night["session"])
    assert status == 0 and text.splitlines()[0] == first.splitlines()[0]
    assert latest(results) == night | {"elapsed_s": None}
    assert call(results, "--session", night["session"], "--quiet") == (0, "", "")
    assert json.loads(
        call(results, "--session", night["session"], "--json")[1]
    ) == latest(results)


def test_a_run_of_another_system_is_not_judged(results, first):
    night = latest(results)["session"]
    found, text, errors = call(results, "--session", night, "--system", "minicluster")
    assert (found, text) == (2, "")
    assert f"{night} ran on local, not on minicluster; name that" in errors


def test_a_night_in_a_terminal_says_where_its_output_is(results, first):
    """Before it begins: here it cannot, as its option is none."""
    ours, theirs = pty.openpty()
    env = os.environ | {
        "FABRIC_RESULTS": str(results),
        "FABRIC_MPI": "mpich",
        "COLUMNS": "200",
    }
    line = [NIGHTLY, *HERE, "--", "--no-such-option"]
    with subprocess.Popen(
        line, env=env, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    ) as night:
        text, _ = night.communicate(timeout=GUARD_S)
    os.close(theirs)
    assert (
        str(results / "nightly/local" / latest(results)["session"] / "run.log")
        in os.read(ours, 1 << 16).decode()
    )
    (failure,) = re.findall(r"The night failed: (.*)", text.decode())
    assert night.returncode == 1
    assert (
        failure.startswith("ci/run ended with status 2: ")
        and "--no-such-option" in failure
    )


@pytest.mark.parametrize(
    "arguments, status, says",
    [
        (["--session", "../x"], 2, "'../x', which is not a name"),
        (["--session", "none"], 1, "no run called 'none' to judge"),
        (["--session", "x", "--", "-n", "y"], 2, "--session runs nothing"),
        (["--mpi"], 2, "--mpi needs a value"),
    ],
)
def test_wrong_usage(results, first, arguments, status, says):
    found, text, errors = call(results, *arguments)
    assert found == status and says in errors and not text


def test_broken_results_and_a_clock_that_was_set_cost_no_value(results, first):
    """Of the night before: its perflog cut and from the future, its journal broken."""
    (perflog,) = (results / "perflogs").rglob("*.jsonl")
    records = [json.loads(line) for line in perflog.read_text().splitlines()]
    for record in records:
        time = datetime.fromisoformat(
            record["time"].replace("Z", "+00:00")
        ) + timedelta(days=400)
        record |= {"time": time.isoformat(), "session": f"{time:%Y%m%dT%H%M%SZ}-aaaa"}
    perflog.write_text("\n".join([*map(json.dumps, records), '{"cut": ']) + "\n")
    with (results / "nightly/local/nights.jsonl").open("a") as journal:
        journal.write("not json\n")
    status, text, _ = spend(results, *HERE, "--quiet")
    assert status == 0, text
    for words in (
        "not a line of a journal",
        f"{perflog.name}:{len(records) + 1}",
    ):
        assert words in text, text
    assert (latest(results)["records"], latest(results)["new"]) == (1, [])
    kept = [line for line in perflog.read_text().splitlines() if line.endswith("}")]
    assert len(kept) == len(records) + 1
    assert spend(results, *HERE, "--quiet")[:2] == (0, "")  # the warnings are known
