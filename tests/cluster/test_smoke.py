# SPDX-License-Identifier: BSD-3-Clause
"""The level smoke on a cluster that `ci/run` starts and ends, half of the suites at a time, side by side."""

import os
import subprocess
from pathlib import Path

import pytest

from fabric_checks.records import runs
from tests import programs
from tests.cluster.conftest import CI
from tests.guard import GUARD_S

#: Prefixes of the names of the checks of two halves of the level.
SUITES = {"others": "(Osu|Imb)", "own": "(Lammps|Rotate|Streaming|HotSpot|LatencyMap)"}
TWO_NODES = {"FABRIC_CLUSTER_NODES": "2", "FABRIC_CLUSTER_RATE": "100gbit"}
SHORT = Path(__file__).with_name("short.py")


@pytest.mark.parametrize("suite", SUITES)
def test_the_smoke_level_passes_on_a_cluster_that_is_started_and_ended_for_it(
    machine, tmp_path, suite
):
    env = os.environ | TWO_NODES | {"FABRIC_RESULTS": str(tmp_path)}
    line = [
        CI / "run",
        "--system",
        "minicluster",
        "--mode",
        "smoke",
        "-C",
        SHORT,
        "-n",
        f"^{SUITES[suite]}",
    ]
    run = subprocess.Popen(
        line, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        output, _ = run.communicate(timeout=GUARD_S)
    finally:
        run.terminate()  # which ends its cluster, too, if it is still there
        run.wait(GUARD_S)
    assert run.returncode == 0, output
    found = runs.load_session(tmp_path)
    cases = [case for case in found.cases if not case.fixture]
    assert len(cases) > 4 and {case.result for case in cases} == {"pass"}
    assert {record["layout"] for record in found.records} >= {"1x2", "2x1"}
    assert {
        place.split(":")[0] for record in found.records for place in record["placement"]
    } == {"n1", "n2"}
    # ci/run became ci/cluster, which calls its cluster by its process.
    up = programs.run([CI / "cluster", "status"], check=True)
    assert f"run-{run.pid}" not in up.stdout
