# SPDX-License-Identifier: BSD-3-Clause
"""How a run ends, whatever ReFrame does: `fabric-checks run` around a stand-in that prints what a real one
did."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests import builders, programs
from tests.conftest import ROOT, TESTS
from tests.guard import GUARD_S, wait_for

SAID = TESTS / "report/terminal/reframe-4.10.4.txt"
SESSION = "20260101T000000Z-test"
MACHINE = {"system": "local", "partition": "node", "environ": "mpich"}
case = partial(builders.case, **MACHINE, perfvalues={})
#: A stand-in of ReFrame: what it leaves behind, and what it prints; it waits to be interrupted if it is to.
REFRAME = """
import json, os, signal, sys, time
from pathlib import Path
asked = json.loads(sys.argv[1])
folder, session = Path(os.environ["FABRIC_RESULTS"]), os.environ["FABRIC_SESSION"]
def leave():
    for name in ("logs", "reports"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "logs" / f"{session}.log").write_text("")
    if asked["cases"] is not None:
        of_session = {"log_files": [f"/x/{session}.log"]}
        report = {"session_info": of_session, "runs": [{"testcases": asked["cases"]}]}
        (folder / "reports" / f"run-report-{session}-0.json").write_text(json.dumps(report, indent=1))
if asked["starts"]:
    leave()
print(Path(asked["said"]).read_text() if asked["said"] else asked["words"], flush=True)
print("reframe: a word on standard error", file=sys.stderr, flush=True)
if asked["waits"]:
    def end(*_):
        print("WARNING: run session stopped: cancelled by user", flush=True)
        sys.exit(1)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    Path(folder / "waits").touch()
    while True:  # a signal that comes just before the kernel's wait is seen after it
        time.sleep(0.1)
sys.exit(asked["status"])
"""


def line(tmp_path, **asked):
    script = tmp_path / "reframe.py"
    script.write_text(REFRAME)
    asked = {
        "starts": True,
        "cases": [],
        "said": str(SAID),
        "words": "",
        "waits": False,
        "status": 0,
    } | asked
    return [
        sys.executable,
        "-m",
        "fabric_checks",
        "run",
        "--",
        sys.executable,
        str(script),
        json.dumps(asked),
    ]


@pytest.fixture
def env(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    return os.environ | {
        "FABRIC_RESULTS": str(results),
        "FABRIC_SESSION": SESSION,
        "PYTHONPATH": str(ROOT / "src"),
    }


def run(tmp_path, env, **asked):
    return programs.run(line(tmp_path, **asked), env=env)


def test_cases_that_failed_are_on_the_screen_and_in_the_status(tmp_path, env):
    cases = [
        case(
            "Streaming %layout=1x2",
            "fail",
            fail_reason="job timed out (1.2s > 1.0s)",
        ),
        case(
            "ImbBarrier %layout=1x2",
            "pass",
            perfvalues={"local:node:t": [1.0, 0, None, None, "us", "pass"]},
        ),
    ]
    done = run(tmp_path, env, cases=cases, status=1)
    assert done.returncode == 1 and "reframe: a word on standard error" in done.stderr
    assert "1 of 2 cases passed, 1 failed" in done.stdout
    assert "Streaming 1x2 @local:node+mpich" in done.stdout
    assert "in run: job timed out (1.2s > 1.0s)" in done.stdout
    assert "not in the perflog: 1 of 1" in done.stdout
    assert "[ RUN" not in done.stdout and len(done.stdout.splitlines()) <= 62
    # By now the run can be asked for again.
    words = [
        sys.executable,
        "-m",
        "fabric_checks",
        "show",
        "--short",
        "--session",
        SESSION,
    ]
    again = programs.run(words, env=env)
    assert "1 of 2 cases passed, 1 failed" in again.stdout


def test_a_run_without_a_case_is_no_success(tmp_path, env):
    done = run(tmp_path, env, cases=[], status=0)
    assert done.returncode == 1
    assert "Failed: no case ran" in done.stdout
    assert "ci/run -l lists the checks there are, with --mode those of that level" in (
        " ".join(done.stdout.split())
    )
    assert "report   none: nothing was measured" in done.stdout


def test_reframe_that_is_not_there_is_one_line(env):
    words = [sys.executable, "-m", "fabric_checks", "run", "--", "/no/such/reframe"]
    done = programs.run(words, env=env)
    assert done.returncode == 1 and done.stdout == ""
    assert (
        done.stderr
        == "error: /no/such/reframe: No such file or directory; make sure that ReFrame is installed, for"
        " example with `. ci/env.sh`\n"
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_still_shows_what_there_is(tmp_path, env, how):
    """An interrupt goes to the whole group, as a terminal sends it; an end is passed on."""
    cases = [case("A %layout=1x2", "pass"), case("B %layout=1x2", "abort")]
    process = subprocess.Popen(
        line(tmp_path, cases=cases, waits=True),
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for((Path(env["FABRIC_RESULTS"]) / "waits").exists, "the run has not begun")
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    out, _ = process.communicate(timeout=GUARD_S)
    assert process.returncode == 1
    assert (
        "Incomplete: 1 of 2 cases passed, 1 not run, as the run was interrupted" in out
    )
    assert "WARNING: run session stopped: cancelled by user" in out
