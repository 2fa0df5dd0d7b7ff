# SPDX-License-Identifier: BSD-3-Clause
"""Compare rotate by flows with rotate by SimGrid, pair by pair: an experiment too long for the tests.

    python -m lab.flows_against_simgrid 128 512 1024 --shifts 32

On each number of nodes a fat tree of three levels and a dragonfly, healthy and with what goes wrong.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_twins import flows, plan, simulate, smpirun, what_if
from fabric_twins.simulate import Bounds

_COSTS = {"send_us": 0.2, "receive_us": 0.2, "latency_us": 0.6, "hop_latency_us": 0.1, "rate_MBps": 12000}
_RANDOM = {"kind": "destination-table", "seed": 1}
_BASE = {
    "name": "trial",
    "about": "flows against SimGrid",
    "source": {"assumed": "for a trial"},
    "cpus_per_node": 64,
    "inter_node": _COSTS | {"eager_below_B": 8192},
}
_TREE = {"kind": "fat_tree", "ports": 16, "levels": 3, "link_MBps": 12000}
_FAULTS = [
    {"cable": ["leaf-2", "level-2-0"], "fraction": 0.25},
    {"cable": ["leaf-3", "level-2-1"], "fraction": 0},
    {"host": "n5", "fraction": 0.5},
]


def _dragonfly(nodes):
    """As balanced as it gets: of routers with h hosts and h cables to other groups, 2h in a group."""
    hosts = next(h for h in range(2, 99) if (2 * h * h + 1) * 2 * h * h >= nodes)
    groups = -(-nodes // (2 * hosts * hosts))
    shape = {"groups": groups, "routers": 2 * hosts, "hosts": hosts, "global_ports": hosts}
    return {"kind": "dragonfly", **shape, "link_MBps": 12000, "routing": {"kind": "d-mod-k"}}


def cases(nodes):
    """Return the descriptions by name."""
    base = _BASE | {"nodes": nodes}
    host = f"n{5:0{len(str(nodes - 1))}}"
    faults = [{**fault, **({"host": host} if "host" in fault else {})} for fault in _FAULTS]
    random = _TREE | {"routing": _RANDOM}
    return {
        "fat tree, d-mod-k": base | {"topology": _TREE | {"routing": {"kind": "d-mod-k"}}},
        "fat tree, random": base | {"topology": random},
        "fat tree, random, faults": base | {"topology": random, "faults": faults},
        "fat tree, half duplex": base
        | {"topology": random, "host_bus": {"duplex": "half", "rate_MBps": 9000}, "faults": faults},
        "dragonfly": base | {"topology": _dragonfly(nodes)},
    }


def both(description, shifts, folder):
    """Return the rates of all pairs by flows and by SimGrid, and the seconds that each took."""
    file = Path(folder) / "trial.yaml"
    file.write_text(yaml.safe_dump(description))
    (alternative,) = plan.load(file)
    twin, seconds = alternative.twin, []
    begin = time.monotonic()
    flowing = flows.matrix(twin, what_if.message_B(twin.nodes), shifts, Bounds())
    seconds.append(time.monotonic() - begin)
    begin = time.monotonic()
    arguments = what_if.rotate_arguments(twin.nodes, what_if.Questions(shifts=shifts))
    text = simulate.output(twin, twin.nodes, "rotate", arguments, Bounds(seconds=3600), flags=smpirun.STEADY)
    seconds.append(time.monotonic() - begin)
    return flowing, evaluation.read(text), seconds


def rates(flowing, output):
    """Return the rates of the same pairs by flows and by SimGrid."""
    scan = output.scan
    assert len(scan) == len(flowing.measured), "not the same pairs"
    return flowing.MBps[scan.sender, scan.receiver - len(flowing.senders)], scan.MBps


def main():
    """Print for each case the values that are shown, and how far pairs are apart."""
    parser = argparse.ArgumentParser(prog="python -m lab.flows_against_simgrid", description=__doc__)
    parser.add_argument("nodes", type=int, nargs="+")
    parser.add_argument("--shifts", type=int, default=0)
    given = parser.parse_args()
    worst = 0.0
    for nodes in given.nodes:
        for name, description in cases(nodes).items():
            with tempfile.TemporaryDirectory() as folder:
                flowing, output, seconds = both(description, given.shifts, folder)
            mine, theirs = rates(flowing, output)
            print(f"{nodes} nodes, {name}: flows {seconds[0]:.1f} s, SimGrid {seconds[1]:.1f} s")
            for what, of in (("median", np.median), ("p10", _p10), ("slowest", np.min), ("mean", np.mean)):
                apart = 100 * (of(mine) / of(theirs) - 1)
                worst = max(worst, abs(apart))
                print(f"  {what:8}{of(mine):10.1f}{of(theirs):10.1f} MB/s {apart:+.3f} %")
            apart = 100 * np.abs(mine / theirs - 1)
            print(f"  pairs: half within {np.median(apart):.4f} %, 99.9 % within {np.quantile(apart, 0.999):.3f} %, ")
            print(
                f"         all within {apart.max():.3f} %; {100 * (apart > 1).mean():.4f} % of them beyond 1 %",
                flush=True,
            )
    print(f"the values are at most {worst:.3f} % apart")


def _p10(values):
    return np.percentile(values, 10)


if __name__ == "__main__":
    main()
