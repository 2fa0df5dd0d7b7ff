# SPDX-License-Identifier: BSD-3-Clause
"""References of a check of two processes a node against one: proposed, written, met, and missed when one side is slow.

Slurm, ReFrame and both launches are real; the program plays back an output, a slower one for a side that is slow.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.records import runs
from tests.cluster.conftest import Cluster
from tests.conftest import FABRIC_CHECKS, GOLDEN, TESTS
from tests.guard import GUARD_S

BIN = Path(sys.executable).parent
CASE = "^OsuLatencyPpnRatio%layout=1x2$"
LATENCY = GOLDEN / "osu-py/4.1.2/osu_latency.txt"
METRIC = "latency_ratio_1024B"
#: Prints the output of the side that it is started for: so many nodes.
PLAY = """\
[ "${PMI_RANK:-0}" = 0 ] || exit 0
cat "$(dirname "$0")/nodes-$SLURM_STEP_NUM_NODES.txt"
"""


class Sessions:
    """Sessions of that case on a cluster of two nodes, with references of their own."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder, self.results = cluster, folder, folder / "results"
        self.file = folder / "references" / "minicluster.yaml"
        self.file.parent.mkdir()
        shutil.copy(TESTS.parent / "config/references/minicluster.yaml", self.file)
        (folder / "play.sh").write_text(PLAY)
        for nodes in (1, 2):
            shutil.copy(LATENCY, folder / f"nodes-{nodes}.txt")
        self.environment = {
            "FABRIC_RESULTS": str(self.results),
            "RFM_REFERENCE_PREFIX": str(self.file.parent),
            "FABRIC_MPI": "mpich",
            "PLAYBACK_COMMAND": f"sh {folder}/play.sh",
            "PLAYBACK_LAUNCHER": "srun",
            "COLUMNS": "1000",
        }

    def run(self, name):
        """Run the case; return its result, why it failed, and its records by metric."""
        settings = TESTS / "playback/settings.py"
        line = [BIN / "reframe", "--system", "minicluster", "-C", settings, "-c", TESTS.parent / "checks", "-n", CASE]
        self.cluster.call(
            "exec", "head", "--", *map(str, line), "-r", timeout=GUARD_S, FABRIC_SESSION=name, **self.environment
        )
        session = runs.load_session(self.results, name)
        (case,) = (case for case in session.cases if not case.fixture)
        return case.result, case.reason, {record["metric"]: record for record in session.records}

    def repeat(self, times):
        """Let what was recorded have been recorded on so many days before, too."""
        (path,) = (self.results / "perflogs").rglob("*.jsonl")
        text = path.read_text()
        with path.open("w") as out:
            for day in range(1, 1 + times):
                for line in text.splitlines():
                    again = {"session": f"2026010{day}T000000Z-copy", "time": f"2026-01-0{day}T00:00:00+00:00"}
                    out.write(json.dumps(json.loads(line) | again) + "\n")
            out.write(text)

    def propose(self):
        line = [FABRIC_CHECKS, "references", "propose", "--system", "minicluster", "--write", self.results]
        return subprocess.run(line, env=os.environ | self.environment, capture_output=True, text=True, timeout=GUARD_S)

    def slow_down(self, nodes):
        """Let the latency of 1 KiB be twice as long on so many nodes."""
        path = self.folder / f"nodes-{nodes}.txt"
        lines = path.read_text().splitlines()
        slow = [f"1024 {2 * float(line.split()[1]):.2f}" if line.split()[0] == "1024" else line for line in lines]
        assert slow != lines
        path.write_text("\n".join(slow) + "\n")


@pytest.fixture
def sessions(machine, tmp_path):
    cluster = Cluster()
    cluster("up", "--nodes", "2")
    yield Sessions(cluster, tmp_path)
    cluster.end()


def test_a_ratio_is_proposed_written_met_and_missed(sessions):
    result, reason, _ = sessions.run("20260101T000000Z-test")
    assert result == "pass", reason
    sessions.repeat(4)
    done = sessions.propose()
    assert done.returncode == 0, done.stderr
    assert "OsuLatencyPpnRatio:" in sessions.file.read_text()
    result, reason, judged = sessions.run("20260110T000000Z-test")
    assert result == "pass", reason
    assert (judged[METRIC]["reference"], judged[METRIC]["upper"], judged[METRIC]["no_reference"]) == (1.0, 0.02, None)
    sessions.slow_down(1)
    result, reason, judged = sessions.run("20260111T000000Z-test")
    assert result == "fail" and METRIC in reason, reason
    assert {name for name, record in judged.items() if record["result"] == "fail"} == {METRIC}
