# SPDX-License-Identifier: BSD-3-Clause
"""What the collection costs before it runs anything: `reframe -c checks -l` against `reframe -l` on a folder
with one empty check, and on one with as many.

    . ci/env.sh
    python -m lab.startup 5          # pairs of runs in turn; nothing else may run on the machine meanwhile
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = ["reframe", "-c", str(ROOT / "checks"), "-l"]
EMPTY_CHECK = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function

@rfm.simple_test
class Empty(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @sanity_function
    def nothing_to_check(self):
        return sn.assert_true(1)
"""


def seconds(command, **options):
    """Return the wall time of a command that has to succeed, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, **options)
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} failed: {done.stderr or done.stdout}")
    return elapsed, done.stdout


def main(repeats):
    """Print the medians of the times, and those of the ratios within a pair."""
    bare = {
        key: value for key, value in os.environ.items() if not key.startswith("RFM_")
    }
    count = int(re.search(r"Found (\d+) check", seconds(OURS)[1])[1])
    times = {
        "reframe -c checks -l": [],
        "one empty check": [],
        f"{count} empty checks": [],
    }
    ours, *others = times.values()
    with tempfile.TemporaryDirectory() as folder:
        for number in (1, count):
            into = Path(folder, str(number))
            into.mkdir()
            for index in range(number):
                text = EMPTY_CHECK.replace("Empty", f"Empty{index}")
                (into / f"empty_{index}.py").write_text(text)
        for _ in range(repeats):
            ours.append(seconds(OURS)[0])
            for number, of_empty in zip((1, count), others, strict=True):
                line = ["reframe", "-c", str(Path(folder, str(number))), "-l"]
                of_empty.append(seconds(line, env=bare, cwd=folder)[0])
    for name, values in times.items():
        ratio = statistics.median(a / b for a, b in zip(ours, values, strict=True))
        print(
            f"{name}: {statistics.median(values):.2f} s; checks take {ratio:.2f} of it"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
