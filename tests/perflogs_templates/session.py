# SPDX-License-Identifier: BSD-3-Clause
"""A real session of reframe that plays an output back, with templates."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import GOLDEN, TESTS
from tests.guard import GUARD_S

REFRAME = Path(sys.executable).with_name("reframe")
NAME = "20260101T000000Z-test"
REFERENCE = """
OsuLatency:
  $index: [$partition, $environ, layout]
  local:node:
    mpich:
      1x2:
        latency_0B: [1000.0, null, 0.1, us]
        latency_1B: [1.0e-3, -0.5, 0.1, us]
no_reference:
- {metric: 'latency_([2-9]|1[0-9]).*', why: the others are recorded}
"""


def environment(results, templates, **variables):
    """Return the environment of a session."""
    references = results / "references"
    references.mkdir(parents=True, exist_ok=True)
    (references / "local.yaml").write_text(REFERENCE)
    # The mock of a variable that a site forgot must not come from the developer.
    own = {name: value for name, value in os.environ.items() if not name.startswith("FABRIC_") or name == "FABRIC_HOME"}
    return own | {
        "FABRIC_RESULTS": str(results), "FABRIC_SESSION": NAME, "FABRIC_MPI": "mpich",
        "TEMPLATES": " ".join(templates), "PLAYBACK": str(GOLDEN / "osu-py/4.1.2/osu_latency.txt"),
        "RFM_REFERENCE_PREFIX": str(references),
    } | variables  # fmt: skip


class Session:
    """A session, what it printed, how long it took, and the records of its JSON lines."""

    def __init__(self, results, templates, arguments=("-n", "OsuLatency", "-r"), **variables):
        settings = TESTS / "perflogs_templates" / "settings.py"
        command = [REFRAME, "-C", settings, "-c", TESTS.parent / "checks/osu", *arguments]
        self.environment = environment(results, templates, **variables)
        begin = time.monotonic()
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=GUARD_S)
        self.seconds = time.monotonic() - begin
        self.status, self.output, self.results = done.returncode, done.stdout + done.stderr, results

    @property
    def records(self):
        paths = sorted((self.results / "perflogs").rglob("*.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]
