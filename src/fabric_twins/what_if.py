# SPDX-License-Identifier: BSD-3-Clause
"""Predict what a planned cluster and its alternatives give in rotate, and on request in Alltoall.

Nothing here is measured. The values follow from the description, most of which is assumed as long as the cluster is a
plan, and from flows that share links; so they tell alternatives apart, and promise no number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fabric_checks.core.metrics import powers_of_two
from fabric_checks.core.text import size_text, value_text
from fabric_checks.diagnosis.cross_section import bandwidths, evaluation
from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.cross_section.matrix import PairMatrix, name_of
from fabric_checks.parsers import overlap, rotate_patterns
from fabric_checks.report import drawing
from fabric_checks.report.pair_drawing import pair_bandwidths
from fabric_twins import flows
from fabric_twins.errors import TwinError
from fabric_twins.lines import aligned
from fabric_twins.model import fabric_map
from fabric_twins.model.description import Twin
from fabric_twins.model.reading import sources_by_kind
from fabric_twins.model.topology import Dragonfly, FatTree, Star
from fabric_twins.plan import Alternative
from fabric_twins.simulate import Bounds, output
from fabric_twins.smpirun import STEADY

#: Simulated time does not scatter: the fewest samples do.
_FEW_SAMPLES = ("--max-seconds-per-point", "0.001", "--min-samples", "8", "--warmup", "1")

#: All messages of a simulation are in the memory of one process: those of rotate take so much together, if that
#: leaves a message large enough for its other costs to be small.
_MESSAGES_B, _LEAST_B, _MOST_B = 256 << 20, 256 << 10, 2 << 20

#: So many findings are printed in words; JSON has all.
_MOST_BLAMED = 6

#: The engines that compute rotate.
SIMGRID, FLOWS = "SimGrid", "flows"


@dataclass(frozen=True)
class Questions:
    """Simulations in addition to rotate.

    :param shifts: how many rounds of rotate to simulate, evenly spread; 0: all.
    :param confirm: whether rotate measures what looks slow again, so that the analysis can name what is to blame.
    :param by_flows: whether rotate is computed by flows in place of simulated processes; None: if there are more nodes
        than :data:`fabric_twins.flows.MOST_SIMULATED`.
    """

    alltoall: bool = False
    shifts: int = 0
    confirm: bool = False
    by_flows: bool | None = None

    @property
    def of_processes(self) -> list[str]:
        """The options whose questions only simulated processes answer."""
        asked = {"--alltoall": self.alltoall, "--confirm": self.confirm}
        return [name for name, given in asked.items() if given]


@dataclass(frozen=True)
class Prediction:
    """The simulated values of an alternative.

    :param matrix: the bandwidth of the pairs of rotate.
    :param report: the analysis of rotate; None where it was computed by flows, where nothing is measured again.
    :param alone_MBps: the bandwidth of one pair on its own, without any switches in between.
    :param alltoall_us: the time of MPI_Ialltoall by the bytes for each rank.
    """

    alternative: Alternative
    matrix: PairMatrix
    report: Report | None
    alone_MBps: float
    alltoall_us: dict[int, float] = field(default_factory=dict)

    @property
    def engine(self) -> str:
        """The engine that computed rotate."""
        return FLOWS if self.report is None else SIMGRID

    @property
    def pairs(self) -> int:
        """The number of pairs that stream at once."""
        return rotate_patterns.pairs_of_round("rotate", len(self.matrix.hosts))

    @property
    def values(self) -> dict[str, float]:
        """Return the values of rotate, in MB/s and percent.

        The aggregates: :func:`fabric_checks.diagnosis.cross_section.bandwidths.values`. The ideal is that each pair
        gets what one gets on its own; ``share_of_ideal`` is the perceived aggregate over that.
        """
        found = bandwidths.values(self.matrix, self.pairs)
        ideal = self.pairs * self.alone_MBps
        return {
            "median_bandwidth": found["median_bandwidth"],
            "p10_bandwidth": float(np.percentile(self.matrix.measured, 10)),
            "slowest_pair_bandwidth": found["slowest_pair_bandwidth"],
            "aggregate_bandwidth": found["aggregate_bandwidth"],
            "perceived_aggregate_bandwidth": found["perceived_aggregate_bandwidth"],
            "ideal_aggregate_bandwidth": ideal,
            "share_of_ideal": 100 * found["perceived_aggregate_bandwidth"] / ideal,
        }

    @property
    def slowest_pair(self) -> tuple[str, str]:
        """Return the hosts of the slowest pair, sender and receiver."""
        sender, receiver = bandwidths.slowest_pair(self.matrix)
        hosts = self.matrix.hosts
        return name_of(hosts, sender), name_of(hosts, receiver)


def message_B(nodes: int) -> int:
    """Return the size of rotate's messages on so many nodes, in bytes: each has one to send and one to receive."""
    size_B = _MOST_B
    while size_B > _LEAST_B and 2 * nodes * size_B > _MESSAGES_B:
        size_B //= 2
    return size_B


def rotate_arguments(nodes: int, questions: Questions) -> list[str]:
    """Return the arguments of rotate: one message and one test, as a second would give the same, and nothing before."""
    arguments = ["--size", str(message_B(nodes)), "--messages", "1", "--tests", "1", "--no-warm-up"]
    arguments += ["--shifts", str(questions.shifts)] if questions.shifts else []
    return arguments + (["--confirm", "--confirm-repeats", "1"] if questions.confirm else [])


def simulate(
    alternatives: Sequence[Alternative], questions: Questions, bounds: Bounds, say: Callable[[str], None]
) -> list[Prediction]:
    """Simulate all alternatives, one after the other.

    :param bounds: of each simulation.
    :param say: is called with the progress.
    :raises TwinError: if a simulation fails, or if flows are to answer what they cannot.
    """
    by_flows = _by_flows(alternatives, questions)
    outcomes = []
    for number, alternative in enumerate(alternatives, 1):
        say(f"{number} of {len(alternatives)}: {alternative.name}")
        outcomes.append((_by_flows_alone if by_flows else _outcome)(alternative, questions, bounds))
    return outcomes


def _by_flows(alternatives: Sequence[Alternative], questions: Questions) -> bool:
    """Return whether rotate is computed by flows: for all alternatives alike, so that they can be compared."""
    nodes = max(alternative.twin.nodes for alternative in alternatives)
    chosen = nodes > flows.MOST_SIMULATED if questions.by_flows is None else questions.by_flows
    if chosen and questions.of_processes:
        asked = " and ".join(questions.of_processes)
        why = "--flows has none" if questions.by_flows else f"{nodes} nodes are computed by flows, which have none"
        remedy = (
            "leave out one of them" if questions.by_flows else "leave it out, or give --no-flows and plenty of time"
        )
        raise TwinError(f"{alternatives[0].twin.file}: {asked} needs simulated processes, and {why}; {remedy}")
    return chosen


def _by_flows_alone(alternative: Alternative, questions: Questions, bounds: Bounds) -> Prediction:
    twin, size_B = alternative.twin, message_B(alternative.twin.nodes)
    found = flows.matrix(twin, size_B, questions.shifts, bounds)
    alone = flows.matrix(_pair_alone(twin), size_B, 0, bounds)
    return Prediction(alternative, found, None, float(alone.measured[0]))


def _outcome(alternative: Alternative, questions: Questions, bounds: Bounds) -> Prediction:
    twin = alternative.twin
    arguments = rotate_arguments(twin.nodes, questions)
    text = output(twin, twin.nodes, "rotate", arguments, bounds, flags=STEADY)
    found = evaluation.of_text(text, link_MBps=_link_MBps(twin), known=fabric_map.of_twin(twin))
    return Prediction(
        alternative,
        found.matrix,
        found,
        _alone_MBps(twin, bounds),
        _alltoall_us(twin, bounds) if questions.alltoall else {},
    )


def _link_MBps(twin: Twin) -> float | None:
    """Return the rate of a cable between switches, where there are any."""
    topology = twin.topology
    if isinstance(topology, FatTree):
        return topology.link_MBps
    return topology.global_link_MBps if isinstance(topology, Dragonfly) else None


def _pair_alone(twin: Twin) -> Twin:
    """Return the twin with two nodes at one switch."""
    return replace(twin, nodes=2, topology=Star(2), faults=())


def _alone_MBps(twin: Twin, bounds: Bounds) -> float:
    """Return the bandwidth of one pair with the same costs and messages at one switch."""
    arguments = rotate_arguments(twin.nodes, Questions())
    text = output(_pair_alone(twin), 2, "rotate", arguments, bounds, flags=STEADY)
    return float(evaluation.of_text(text).matrix.measured[0])


def alltoall_sizes_B(nodes: int) -> list[int]:
    """Return the sizes for Alltoall: small, and the largest up to 16 KiB whose buffers take no more than 1 GiB."""
    largest = 16 << 10
    while largest > 8 and 2 * nodes**2 * largest > 1 << 30:
        largest //= 2
    return [8, largest] if largest > 8 else [8]


def _alltoall_us(twin: Twin, bounds: Bounds) -> dict[int, float]:
    times_us: dict[int, float] = {}
    for size_B in alltoall_sizes_B(twin.nodes):
        arguments = ["--operation", "ialltoall", "--min-size", str(size_B), "--max-size", str(size_B)]
        text = output(twin, twin.nodes, "collective_overlap", [*arguments, "--max-steps", "3", *_FEW_SAMPLES], bounds)
        found = overlap.parse_collectives(text, powers_of_two(size_B, size_B), ["ialltoall"])
        times_us |= found.by_size("ialltoall_nominal_us")
    return times_us


# ------------------------------------------------------------------------------------------------------------ output

_HEAD = ("alternative", "median", "p10", "slowest", "slowest pair", "aggregate", "perceived", "of ideal")
_UNITS = ("", "MB/s", "MB/s", "MB/s", "", "GB/s", "GB/s", "%")

_NOTES = (
    "p10: a tenth of the pairs is slower. aggregate: pairs x mean. perceived: pairs x slowest, as an exchange over all",
    "pairs takes as long as its slowest. of ideal: the perceived aggregate divided by that of pairs each run alone.",
)


def as_lines(file: Path, outcomes: Sequence[Prediction]) -> list[str]:
    """Return the predictions as lines for a terminal."""
    first = outcomes[0].alternative.twin
    rows = [_HEAD, _UNITS, *(_row(outcome) for outcome in outcomes)]
    lines = [
        f"{file}: {first.name}, {first.about}",
        f"PREDICTED by simulation, not measured. {_basis(first)}",
        "",
        f"rotate: {outcomes[0].pairs} pairs, one message of {size_text(message_B(first.nodes))} bytes each, all pairs "
        f"at once; by {outcomes[0].engine}",
        *aligned(rows, left=(0, 4)),
        *_NOTES,
    ]
    for outcome in outcomes:
        lines += _blamed(outcome)
    if outcomes[0].alltoall_us:
        lines += ["", "Alltoall: time of an operation in us, by bytes for each rank", *_alltoall_table(outcomes)]
    return lines


def _blamed(outcome: Prediction) -> list[str]:
    """Return the first findings of the analysis of rotate; nothing where it was not asked for."""
    if outcome.report is None or not outcome.report.output.confirmed:
        return []
    found = [finding.as_dict()["text"] for finding in outcome.report.findings]
    if not found:
        return ["", f"{outcome.alternative.name}: nothing stands out in what was measured"]
    more = [f"  and {len(found) - _MOST_BLAMED} more"] if len(found) > _MOST_BLAMED else []
    return ["", f"{outcome.alternative.name}:", *(f"  {text}" for text in found[:_MOST_BLAMED]), *more]


def _basis(twin: Twin) -> str:
    """Return how many values of the description are published, fitted and assumed."""
    kinds = {kind: len(names) for kind, names in sources_by_kind(twin.sources).items() if names}
    return f"Its values: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}."


def _row(outcome: Prediction) -> tuple[str, ...]:
    found = outcome.values
    rates = (found[f"{name}_bandwidth"] for name in ("median", "p10", "slowest_pair"))
    totals = (found[f"{name}_bandwidth"] / 1000 for name in ("aggregate", "perceived_aggregate"))
    return (
        outcome.alternative.name,
        *map(value_text, rates),
        " to ".join(outcome.slowest_pair),
        *map(value_text, totals),
        value_text(found["share_of_ideal"]),
    )


def _alltoall_table(outcomes: Sequence[Prediction]) -> list[str]:
    sizes_B = sorted({size for outcome in outcomes for size in outcome.alltoall_us})
    rows = [("alternative", *map(size_text, sizes_B))]
    for outcome in outcomes:
        times = (outcome.alltoall_us.get(size) for size in sizes_B)
        rows.append((outcome.alternative.name, *("-" if time is None else value_text(time) for time in times)))
    return aligned(rows)


def as_json(file: Path, outcomes: Sequence[Prediction]) -> str:
    """Return the predictions as JSON."""
    alternatives: list[dict[str, Any]] = []
    for outcome in outcomes:
        entry: dict[str, Any] = {
            "name": outcome.alternative.name,
            "rotate": {**outcome.values, "slowest_pair": list(outcome.slowest_pair)},
            # Null: not analysed.
            "findings": None if outcome.report is None else [each.as_dict() for each in outcome.report.findings],
            "sources": sources_by_kind(outcome.alternative.twin.sources),
        }
        if outcome.alltoall_us:
            entry["alltoall_us"] = {str(size): time for size, time in outcome.alltoall_us.items()}
        alternatives.append(entry)
    units = {name: "%" if name == "share_of_ideal" else "MB/s" for name in outcomes[0].values}
    of_all = {"file": str(file), "kind": "predicted", "engine": outcomes[0].engine, "units": units}
    return json.dumps(of_all | {"alternatives": alternatives}, indent=1)


def draw(outcomes: Sequence[Prediction], folder: Path) -> list[str]:
    """Write the pictures: the distributions of all, and of each alternative the matrix and the histogram.

    :returns: the names of the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    twin = outcomes[0].alternative.twin
    top_MBps = 1.05 * max(float(each.matrix.measured.max()) for each in outcomes)
    histograms = []
    for each in outcomes:
        rates, found = each.matrix.measured, each.values
        counts, edges = np.histogram(rates, bins=60, range=(0, top_MBps))
        levels = [("median", found["median_bandwidth"]), ("slowest", found["slowest_pair_bandwidth"])]
        if found["slowest_pair_bandwidth"] > 0.9 * found["median_bandwidth"]:
            levels.pop()  # one would hide the other
        caption = (
            f"{each.alternative.name}: perceived {value_text(found['perceived_aggregate_bandwidth'] / 1000)} GB/s, "
            f"{found['share_of_ideal']:.0f} % of ideal"
        )
        histograms.append((caption, drawing.histogram(counts.tolist(), edges.tolist(), levels)))
    title = f"{twin.name}, {twin.nodes} nodes, simulated: bandwidth of the pairs while all pairs run"
    names = [drawing.save(folder / "distributions.svg", drawing.document(title, histograms, {}))]
    for each in outcomes:
        found = each.values
        title = (
            f"{each.alternative.name} ({twin.name}, simulated): median {found['median_bandwidth']:.0f}, slowest "
            f"{found['slowest_pair_bandwidth']:.0f} MB/s; perceived {found['share_of_ideal']:.0f} % of ideal"
        )
        path = folder / f"{_file_name(each.alternative.name)}.svg"
        names.append(drawing.save(path, pair_bandwidths(title, each.matrix, _shown_link_MBps(each))))
    return names


def _shown_link_MBps(outcome: Prediction) -> float:
    """Return the rate of a cable, or where there are none what the fastest pairs show."""
    return _link_MBps(outcome.alternative.twin) or bandwidths.link_rate_MBps(outcome.matrix)


def _file_name(name: str) -> str:
    """Return a name of an alternative as part of the name of a file."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join(words)[:100] or "unnamed"
