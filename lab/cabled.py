# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.cabled --first-seed S``: slow cables of fabrics that OpenSM routes.

A fabric is drawn from a seed: its shape, its hosts, the kinds of its links and their ports. ibsim simulates
it, OpenSM routes it, and the tools of InfiniBand print the files that the verb ``blame`` gets (Debian:
opensm, ibsim-utils, infiniband-diags). What the program ``rotate`` prints is that of ``lab.fluid``, whose
flows share cables max-min fairly, here along the paths of OpenSM's own tables, which are walked port by port
over the cabling by a reader that knows nothing of the library. Each trial is judged twice: healthy, and with
a cable between switches, of those that some route takes, at a share of its rate. Columns:

- ``named``: the only part that is blamed is the cable, by both its switches and ports;
- ``among``: the cable is blamed with others that carry the same pairs, all named;
- ``symptom``: slow pairs that do cross it, or an uplink of its leaf; ``missed``: nothing is blamed;
- ``healthy``: a part without a fault is blamed; ``false limit``: a slower cable would have been named by the
  metric ``smallest_cable_fault``, and was not, though several scanned pairs cross it: of others the run says
  that hardly any do;
- ``quiet``: of the healthy runs, those in which nothing is blamed.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.parsers import rotate
from lab import harness
from lab.fluid.fabric import Level
from lab.fluid.flows import Floats, Ints
from lab.fluid.machine import Machine
from tests.fabric_map.real import opensm
from tests.fabric_map.real.cabling import GBITS, Cabling, is_adapter, torus
from tests.fabric_map.real.routes import shown, true_routes

Random = np.random.Generator
#: What of a link's rate messages get.
_PAYLOAD = 0.96
_TREES = ("minhop", "updn", "ftree", "dfsssp")
_ANY = ("minhop", "dfsssp", "lash", "nue")
COLUMNS = ("named", "among", "symptom", "missed", "healthy", "false limit", "quiet")


@dataclass
class Drawn:
    """A fabric: its cabling, the engines that route it, and whether hosts have a second adapter."""

    cabling: Cabling
    engines: Sequence[str]
    adapters: int = 1


class Network:
    """A fabric with routes, of which :class:`lab.fluid.machine.Machine` measures pairs."""

    routing = "static"

    def __init__(self, cabling: Cabling, tables: str) -> None:
        """Number the links: those that hosts send on, those that they receive on, then both ends of each
        cable."""
        self.hosts = sorted(
            node
            for node in cabling.ends
            if node.endswith(" mlx5_0") and cabling.ends[node]
        )
        self.names = [host.split()[0] for host in self.hosts]
        self.nodes = len(self.hosts)
        self.levels: list[Level] = []
        kinds = [cabling.ends[host][1][2] for host in self.hosts]
        rates = [_MBps(kind) for kind in kinds * 2]
        self.number: dict[tuple[str, int], int] = {}
        for node, ports in cabling.ends.items():
            for port, (far, _, kind) in ports.items():
                if not is_adapter(node) and not is_adapter(far):
                    self.number[node, port] = len(rates)
                    rates.append(_MBps(kind))
        self.base = np.array(rates)
        routes = true_routes(cabling, tables)
        self.routes = {
            (one, other): [self.number[end[:2]] for end in routes[sender, receiver]]
            for (one, sender), (other, receiver) in itertools.permutations(
                enumerate(self.hosts), 2
            )
        }
        self.cables = _cables(cabling, self.number)

    def paths(self, pairs: Sequence[tuple[int, int]], _: Ints) -> tuple[Ints, Floats]:
        """Return the links of flows, and the share of each that they carry."""
        ways = [
            [one, self.nodes + other, *self.routes[one, other]] for one, other in pairs
        ]
        none, width = len(self.base), max(map(len, ways))
        path = np.array([[*way, *[none] * (width - len(way))] for way in ways])
        return path, (path < none).astype(float)

    def begin_round(self) -> None:
        """Do nothing: routes are static."""

    def state(self, now: float) -> tuple[Floats, float]:
        """Return the capacity of all links at a time, the last infinite, and the time of the next change."""
        factors, change = np.ones(len(self.base)), np.inf
        for level in self.levels:
            factor, until = level.at(now)
            factors[list(level.links)] *= factor
            change = min(change, until)
        return np.append(self.base * factors, np.inf), change


def _MBps(kind: str) -> float:
    return GBITS[kind] * 1000 / 8 * _PAYLOAD


def _cables(
    cabling: Cabling, number: dict[tuple[str, int], int]
) -> dict[frozenset[str], list[int]]:
    """Return both directions of each cable by the names of its ends, as people would call them."""
    found = {}
    for node, port in number:
        far, far_port, _ = cabling.ends[node][port]
        ends = frozenset(
            (f"{shown(node)} port {port}", f"{shown(far)} port {far_port}")
        )
        found[ends] = [number[node, port], number[far, far_port]]
    return found


# ---------------------------------------------------------------------------- fabrics


def _cabling(rng: Random) -> Cabling:
    made = Cabling()
    made.random.seed(int(rng.integers(1 << 30)))
    return made


def _tree(
    rng: Random,
    adapters: int = 1,
    trunk: int = 1,
    of_hosts: str = "4xHDR",
    older: str = "",
    name: Callable[[str], str] = lambda name: f"MF0;{name}:MQM8700/U1",
) -> Drawn:
    """Return a tree of two levels.

    :param older: ``leaf`` or ``spine`` if some have 4xEDR. Of the hosts of such a leaf every second one has:
        a single one would be a link slower than its fellows, which the map names and a measurement blames.
    """
    made = _cabling(rng)
    leaves, spines, per_leaf = (
        int(rng.integers(*some)) for some in ((3, 7), (2, 5), (3, 9))
    )
    old = {"leaf": leaves, "spine": spines}.get(older, 0)
    slow = set(rng.permutation(old)[: max(old // 2, 1)].tolist()) if old else set()
    for leaf in range(leaves):
        is_old = older == "leaf" and leaf in slow
        for host, adapter in itertools.product(range(per_leaf), range(adapters)):
            kind = "4xEDR" if is_old and of_hosts == "4xHDR" and host % 2 else of_hosts
            made.cable(
                f"cn{leaf:02d}{host:02d} mlx5_{adapter}", name(f"L{leaf + 1:02d}"), kind
            )
        for spine in range(spines):
            is_slow = is_old or (older == "spine" and spine in slow)
            made.cable(
                name(f"L{leaf + 1:02d}"),
                name(f"S{spine + 1:02d}"),
                "4xEDR" if is_slow else "4xHDR",
                trunk,
            )
    return Drawn(made, _TREES, adapters)


def _planes(rng: Random) -> Drawn:
    """Return a tree whose hosts have an adapter at each of two leaves, of leaves of their own."""
    made = _cabling(rng)
    pairs, spines, hosts = (
        int(rng.integers(3, 5)),
        int(rng.integers(2, 4)),
        int(rng.integers(4, 8)),
    )
    for pair, adapter in itertools.product(range(pairs), range(2)):
        leaf = f"MF0;leaf{pair + 1}{'ab'[adapter]}:MQM8700/U1"
        for host in range(hosts):
            made.cable(f"cn{pair}{host:02d} mlx5_{adapter}", leaf)
        for spine in range(spines):
            made.cable(leaf, f"MF0;spine{spine + 1}:MQM8700/U1")
    return Drawn(made, _TREES, 2)


def _three_levels(rng: Random) -> Drawn:
    made = _cabling(rng)
    pods, leaves, spines, cores = (
        int(rng.integers(*some)) for some in ((2, 4), (2, 4), (2, 4), (1, 3))
    )
    hosts = int(rng.integers(3, 6))
    for pod in range(pods):
        for leaf in range(leaves):
            for host in range(hosts):
                made.cable(
                    f"cn{pod}{leaf}{host:02d} mlx5_0", f"MF0;l{pod}{leaf}:MQM8700/U1"
                )
            for spine in range(spines):
                made.cable(
                    f"MF0;l{pod}{leaf}:MQM8700/U1", f"MF0;s{pod}{spine}:MQM8700/U1"
                )
        for spine, core in itertools.product(range(spines), range(cores)):
            made.cable(
                f"MF0;s{pod}{spine}:MQM8700/U1", f"MF0;c{spine}{core}:MQM8700/U1"
            )
    return Drawn(made, ("minhop", "updn"))


def _joined(
    rng: Random, links: Sequence[tuple[int, int]], engines: Sequence[str]
) -> Drawn:
    """Return switches that are joined by links, with hosts at each."""
    made = _cabling(rng)
    for number in sorted(set(itertools.chain(*links))):
        for host in range(int(rng.integers(3, 6))):
            made.cable(
                f"cn{number:02d}{host:02d} mlx5_0", f"MF0;sw{number:02d}:MQM8700/U1"
            )
    for one, other in links:
        made.cable(f"MF0;sw{one:02d}:MQM8700/U1", f"MF0;sw{other:02d}:MQM8700/U1")
    return Drawn(made, engines)


def _mesh(rng: Random) -> Drawn:
    return _joined(
        rng, list(itertools.combinations(range(int(rng.integers(4, 7))), 2)), _ANY
    )


def _torus(rng: Random) -> Drawn:
    width, height = (int(side) for side in rng.integers(3, 5, size=2))
    links = {frozenset(link) for link in torus(width, height)}
    return _joined(
        rng,
        [(min(link), max(link)) for link in sorted(links, key=sorted)],
        (*_ANY, "dor"),
    )


def _dragonfly(rng: Random) -> Drawn:
    groups, routers = int(rng.integers(3, 5)), 3
    links = [
        (group * routers + one, group * routers + other)
        for group in range(groups)
        for one, other in itertools.combinations(range(routers), 2)
    ]
    for one, other in itertools.combinations(range(groups), 2):
        links.append((one * routers + other % routers, other * routers + one % routers))
    return _joined(rng, links, _ANY)


SHAPES: dict[str, Callable[[Random], Drawn]] = {
    "two levels": _tree,
    "trunks of two cables": partial(_tree, trunk=2),
    "older leaves": partial(_tree, older="leaf"),
    "an older spine": partial(_tree, older="spine"),
    "two adapters": partial(_tree, adapters=2),
    "two adapters, two leaves": _planes,
    "HDR100": partial(_tree, of_hosts="2xHDR"),
    "HDR100, older leaves": partial(_tree, of_hosts="2xHDR", older="leaf"),
    "three levels": _three_levels,
    "director": partial(_tree, name=lambda board: f"MF0;ibdir:CS8500/{board}/U1"),
    "mesh": _mesh,
    "torus": _torus,
    "dragonfly": _dragonfly,
}


# ----------------------------------------------------------------------------- trials


@dataclass
class Outcome:
    """What became of the trials of a fabric."""

    shape: str
    engine: str
    counts: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)


def trials(
    number: int,
    first_seed: int,
    count: int,
    share: float,
    keep: str = "",
) -> Outcome:
    """Run the trials of a fabric; :param share: of its rate that the slow cable has."""
    shape = list(SHAPES)[number % len(SHAPES)]
    rng = np.random.default_rng([first_seed, number])
    drawn = SHAPES[shape](rng)
    engine = str(rng.choice(drawn.engines))
    made = Outcome(shape, engine)
    with harness.folder_of(f"{number}", keep) as here:
        with opensm.simulated(drawn.cabling, here) as simulated:
            host = next(filter(is_adapter, drawn.cabling.ends))
            printed = simulated.sweep(host, engine)
        for name in ("ibnetdiscover", "dump_fts"):
            (here / name).write_text(printed[name])
        options = ["--adapter", "mlx5_0"] if drawn.adapters > 1 else []
        network = Network(drawn.cabling, printed["opensm-lfts.dump"])
        for trial in range(count):
            own = np.random.default_rng([first_seed, number, trial])
            for text in _trial(network, own, share, here, options, made.counts):
                made.details.append(f"{shape}, {engine}, {number}.{trial}: {text}")
    return made


def _trial(
    network: Network,
    rng: Random,
    share: float,
    here: Path,
    options: Sequence[str],
    counts: Counter[str],
) -> Iterator[str]:
    """Judge a healthy run and one with a slow cable; count outcomes, and yield what is not right."""
    noise = float(rng.uniform(0.005, 0.03))
    network.levels = []
    blamed, _, _ = _judged(network, rng, noise, here, options)
    counts["quiet"] += not blamed
    if blamed:
        yield f"healthy, noise {noise:.3f}: {blamed[0]['text']}"
    used = {link for way in network.routes.values() for link in way}
    cables = [ends for ends, links in network.cables.items() if used & set(links)]
    ends = sorted(cables, key=sorted)[int(rng.integers(len(cables)))]
    links = network.cables[ends]
    network.levels = [Level(links, share)]
    blamed, limit, scanned = _judged(network, rng, noise, here, options)
    own = sum(bool(set(network.routes[pair]) & set(links)) for pair in scanned)
    outcome = _outcome(network, blamed, ends)
    counts[outcome] += 1
    is_false = outcome in ("symptom", "missed") and limit < 1 - share
    is_false &= own >= SETTINGS.fewest_pairs_of_cable
    counts["false limit"] += is_false
    if outcome != "named" or is_false:
        yield (
            f"{outcome}, limit {limit:.3f}, noise {noise:.3f}, {own} pairs scanned:"
            f" {' to '.join(sorted(ends))}: {[each['text'] for each in blamed]}"
        )


def _judged(
    network: Network, rng: Random, noise: float, here: Path, options: Sequence[str]
) -> tuple[list[dict[str, Any]], float, set[tuple[int, int]]]:
    """Return what the verb blames, the least fault of a cable that it would have named, as a share, and the
    pairs of the scan."""
    machine = Machine(network, rng, noise=noise)  # type: ignore[arg-type]  # as much of a Fabric as it needs
    text = machine.run((network.nodes + 1) // 2)
    (here / "rotate.txt").write_text(text)
    scan = rotate.parse(text).scan
    pairs = zip(scan.sender.tolist(), scan.receiver.tolist(), strict=True)
    topology = [here / name for name in ("ibnetdiscover", "dump_fts", "opensm.log")]
    document, _ = harness.verb([here / "rotate.txt"], topology, options)
    (run,) = document["runs"].values()
    assert "crash" not in run, run["crash"]
    blamed = [note for note in run["notes"] if note["fault"]]
    limit = (run["metrics"].get("smallest_cable_fault") or 100.0) / 100
    return blamed, limit, set(pairs)


def _outcome(
    network: Network, blamed: Sequence[dict[str, Any]], ends: frozenset[str]
) -> str:
    """Return what was said of a slow cable; see the first lines."""
    links, found = set(network.cables[ends]), Counter[str]()
    leaves = {end.rsplit(" port ", 1)[0] for end in ends}
    for each in blamed:
        names = [each["part"], *each.get("others", [])]
        cables = [
            frozenset(name.removeprefix("cable ").split(" to ")) for name in names
        ]
        if ends in cables:
            found["named" if len(names) == 1 else "among"] += 1
        elif each["kind"] in ("pair", "group"):
            ranks = each.get("ranks", [])
            pair = tuple(ranks[:2])
            is_slow = len(ranks) != 2 or links & {
                *network.routes[pair],
                *network.routes[pair[::-1]],
            }
            found["symptom" if is_slow else "healthy"] += 1
        elif any(f"uplink of {leaf}" in each["part"] for leaf in leaves):
            found["symptom"] += 1
        else:
            found["healthy"] += 1
    order = ("healthy", "among", "named", "symptom")
    return next((word for word in order if found[word]), "missed")


def main() -> None:
    """Print a line for each shape, and what was not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m lab.cabled", description=__doc__)
    parser.add_argument("--fabrics", type=int, default=30)
    parser.add_argument("--trials", type=int, default=10, help="of each fabric")
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument(
        "--share", type=float, default=0.75, help="of its rate that the cable has"
    )
    parser.add_argument("--jobs", type=int, default=2)
    harness.keeping(parser)
    given = parser.parse_args()
    numbers = range(given.fabrics)
    counts = defaultdict[str, Counter[str]](Counter)
    fabrics = Counter[str]()
    with ProcessPoolExecutor(given.jobs) as pool:
        work = partial(
            trials,
            first_seed=given.first_seed,
            count=given.trials,
            share=given.share,
            keep=given.keep,
        )
        for made in pool.map(work, numbers):
            fabrics[made.shape] += 1
            counts[made.shape] += made.counts
            counts["all"] += made.counts
            print(*made.details, sep="\n", flush=True)
    fabrics["all"] = len(numbers)
    print(f"| fabric | fabrics | trials | {' | '.join(COLUMNS)} |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for shape, number in fabrics.items():
        cells = [
            number,
            number * given.trials,
            *(counts[shape][word] for word in COLUMNS),
        ]
        print(f"| {shape} | {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
