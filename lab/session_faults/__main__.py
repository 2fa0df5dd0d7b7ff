# SPDX-License-Identifier: BSD-3-Clause
"""Make each fault of the machine many times in a session, and count how often only the victim fails, by its
cause.

. ci/env.sh
python -m lab.session_faults slurm 5                    # a line a trial, a minute or two each
python -m lab.session_faults pbs 5 "node lost in mid-job"
"""

import re
import sys
import tempfile
from pathlib import Path

from lab.session_faults import COMMANDS, FAULTS, heal
from tests.cluster.conftest import Cluster


def is_named(outcome, text):
    """Return whether the victim fails for its cause, or passes where it has to, and whether the other cases
    pass."""
    results = {name: case.result for name, case in outcome.cases.items()}
    victim = outcome.cases["OsuLatency"]
    others = results["OsuBarrier"] == results["ImbBarrier"] == "pass"
    return others and (
        victim.result == "pass"
        if text is None
        else bool(re.search(text, victim.reason or ""))
    )


def main(scheduler, count, *names):
    """Print a line for each trial, and how often each fault was named; return an exit status."""
    cluster, right = Cluster(), {}
    cluster("up", "--nodes", "2", "--scheduler", scheduler)
    try:
        for name in names or FAULTS[scheduler]:
            make, text = FAULTS[scheduler][name]
            right[name] = 0
            for _ in range(int(count)):
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        outcome = make(cluster, COMMANDS[scheduler], Path(folder))
                    finally:
                        heal(cluster, COMMANDS[scheduler])
                    if isinstance(outcome, str):
                        print(f"{name}: {outcome}", flush=True)
                        break
                    right[name] += is_named(outcome, text)
                    print(
                        f"{name}: {outcome.cases['OsuLatency'].reason or 'passed'}",
                        flush=True,
                    )
    finally:
        cluster.end()
    for name, times in right.items():
        print(f"{scheduler}: {name}: {times} of {count}")
    return 0 if all(times == int(count) for times in right.values()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
