# SPDX-License-Identifier: BSD-3-Clause
"""What recording the ports costs: launches on eight hosts with it and without, in turns, on a quiet machine.

. ci/env.sh
python -m lab.ports.cost 20      # launches of each kind; the medians, their difference, the snapshots
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from fabric_checks.ports import snapshots as ports
from tests.cluster.conftest import Cluster
from tests.fabric.test_programs import Mpi

NODES = 8
#: What it may cost a case.
ALLOWED_S = 0.1


def main(count):
    """Print the values; return an exit status."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mpi = Mpi("mpich", folder, "ports", "placement")
        env = {name: mpi.env[name] for name in ("PATH", "LD_LIBRARY_PATH")}
        cluster = Cluster()
        cluster("up", "--nodes", str(NODES), "--rate", "1gbit")
        seconds = {"without": [], "with": []}
        snapshots_ms = []
        try:
            for number in range(2 * count + 2):
                kind = ("without", "with")[number % 2]
                output = folder / f"out-{number}"
                before = (
                    [folder / "ports", "--output", output, "--"]
                    if kind == "with"
                    else []
                )
                begin = time.monotonic()
                done = cluster.srun(
                    "--mpi=pmi2",
                    f"-N{NODES}",
                    f"-n{NODES}",
                    *before,
                    folder / "placement",
                    **env,
                )
                took = time.monotonic() - begin
                assert done.returncode == 0, done.stderr
                if number > 1:  # the first of each kind load programs
                    seconds[kind].append(took)
                for path in output.glob("*.txt"):
                    node = ports.parse(path.read_text())
                    snapshots_ms += [node.before.took_ms, node.after.took_ms]
        finally:
            cluster.end()
    medians = {kind: statistics.median(values) for kind, values in seconds.items()}
    cost_s = medians["with"] - medians["without"]
    print(
        f"{NODES} nodes, {count} launches each: {medians['without']:.3f} s without, {medians['with']:.3f} s"
        " with"
    )
    print(f"it costs {1e3 * cost_s:.1f} ms a launch, {1e3 * ALLOWED_S:.0f} are allowed")
    print(
        f"a snapshot: {statistics.median(snapshots_ms):.2f} ms, at most {max(snapshots_ms):.2f} ms"
    )
    return 0 if cost_s <= ALLOWED_S else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
