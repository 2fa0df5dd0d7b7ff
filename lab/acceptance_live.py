# SPDX-License-Identifier: BSD-3-Clause
"""Clauses on a real cluster of four hosts: one that meets them, and two that do not.

    . ci/env.sh
    python -m lab.acceptance_live 10             # so many acceptances of each kind; a session takes up to a
    minute python -m lab.acceptance_live 1 cable        # one kind
    FABRIC_TRIALS=FOLDER python -m lab.acceptance_live 10    # keeps the results of each

After each session `offers accept status` says whether it is over. An acceptance is right if the contract is
met by a healthy machine, and if of any other exactly the clauses that are about its fault are violated.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.conftest import CI, Cluster

NODES, MBIT = 4, 40
SETTINGS = Path(__file__).with_name("vet_settings.py")
CLAUSES = Path(__file__).parents[1] / "config/clauses/minicluster.yaml"
CASE = "^Rotate%pattern=round-robin%layout=4x1$"
#: What is done to the links before each session, and the clauses that may be violated, of which one has to
#: be.
KINDS = {
    "healthy": (lambda node, session: {}, ()),
    "node at 0.9": (
        lambda node, session: {node: f"{0.9 * MBIT:g}mbit"},
        ("slowest node", "pairs"),
    ),
    "cable": (
        lambda node, session: {
            f"{node}.send": f"{MBIT / 2:g}mbit",
            f"{node}.receive": f"{MBIT}mbit",
        },
        ("pairs", "slowest node"),
    ),
}


def status(results):
    """Return the exit status of `accept status`, and the verdict on each clause."""
    line = [
        "fabric-checks",
        "offers",
        "accept",
        "status",
        str(CLAUSES),
        str(results),
        "--json",
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        raise AssertionError(done.stdout + done.stderr)
    return done.returncode, {
        each["clause"]: each["verdict"] for each in json.loads(done.stdout)
    }


def measure(cluster, results, rates):
    """Run one session with these rates of links."""
    ways = {name.partition(".")[0] for name in rates if "." in name}
    usual = {f"n{n}": f"{MBIT}mbit" for n in range(1, NODES + 1) if f"n{n}" not in ways}
    cluster("shape", *(f"{name}={rate}" for name, rate in (usual | rates).items()))
    run = [str(CI / "run"), "--system", "minicluster", "-C", str(SETTINGS), "-n", CASE]
    done = cluster.tried(
        "head",
        *run,
        timeout=900,
        FABRIC_RESULTS=str(results),
        FABRIC_MPI="mpich",
    )
    if not (results / "perflogs").is_dir():
        raise AssertionError(done.stdout + done.stderr)


def acceptance(cluster, results, kind, node, most=16):
    """Run sessions until all is decided; return the verdicts, how many sessions it took, and whether it is
    right."""
    shape, expected = KINDS[kind]
    for session in range(most):
        measure(cluster, results, shape(node, session))
        code, words = status(results)
        if code == 0 or (code == 3 and expected):
            break
    violated = {name for name, word in words.items() if word == "violated"}
    is_right = (
        code == 0 if not expected else bool(violated) and violated <= set(expected)
    )
    return words, session + 1, is_right


def main(count, kinds):
    """Print a line for each acceptance."""
    draw = random.Random(48)
    kept = os.environ.get("FABRIC_TRIALS")
    right = dict.fromkeys(kinds, 0)
    cluster = Cluster()
    cluster("up", "--nodes", str(NODES), "--rate", f"{MBIT}mbit")
    try:
        for number in range(1, count + 1):
            for kind in kinds:
                with tempfile.TemporaryDirectory() as folder:
                    node = f"n{draw.randint(1, NODES)}"
                    words, sessions, is_right = acceptance(
                        cluster, Path(folder), kind, node
                    )
                    if kept:
                        shutil.copytree(
                            folder, Path(kept) / f"{kind.replace(' ', '-')}-{number}"
                        )
                right[kind] += is_right
                verdict = "right" if is_right else "WRONG"
                print(
                    f"{kind}, {node}: {words} after {sessions} sessions: {verdict}",
                    flush=True,
                )
            print(
                *(f"{kind}: {right[kind]} of {number} right" for kind in kinds),
                sep="; ",
                flush=True,
            )
    finally:
        cluster("down")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or list(KINDS))
