# SPDX-License-Identifier: BSD-3-Clause
"""The table of what the documents report against what the twins give, as `config/twins/README.md` has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import sched_getaffinity

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import value_text
from fabric_twins import measured
from fabric_twins.model import description
from fabric_twins.model.description import FITTED, PublishedValue, Saying, Twin
from fabric_twins.model.places import UNITS, place_of
from fabric_twins.pool import pool
from fabric_twins.simulate import Bounds, output

#: Where the descriptions are.
DESCRIPTIONS = ROOT / "config" / "twins"

#: The file that has the table.
README = DESCRIPTIONS / "README.md"

_HEAD = """\
# Twins: simulated clusters that stand for published ones

Each file here describes one twin: nodes, costs of messages, buses, topology, routing, and the values that the documents
report for it, with the source of every value. `ci/run --system NAME` runs the checks on it; `ci/run --system twins`
runs them on all twins. `src/fabric_twins/model/description.py` says what a description may have.

Sources: SAND, SAND2005-5199, *An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath* (Sandia, 2005). ROTATE:
Naegle, e-mails on cross-sectional bandwidth testing on Feynman and Rogue (June 2004). OSU03: Liu et al.,
*Micro-Benchmark Level Performance Comparison of High-Speed Interconnects* (2003). DYNA: Jonsson and Magro, InfiniBand
and Gigabit Ethernet on Itanium 2 clusters (MPP-DYNA). IBM12X: Vishnu, Benton and Panda, *High Performance MPI on IBM
12x InfiniBand*.

Everything below this line is written by `fabric-checks twin table --write` from simulations; a test fails when it is
stale."""

_FITTED = """
## Fitted: {count} values

A parameter was chosen to reproduce the value, so agreement here is no evidence for anything.
"""

_PREDICTED = """
## Predicted: {count} values

These follow from parameters that were chosen for other values. They are what a twin can be judged by.
"""

_NOT_REPRODUCED = """
## Not reproduced: {count} values

Predictions that fail, and why. The checks expect them to fail, and it is an error if one starts to pass unnoticed.
"""

_SAID = """
## Said without a number: {count}

Bounds on what a check measures; the direction is the document's, the rough factor is ours.
"""


@dataclass(frozen=True)
class Row:
    """A value of the documents, and of the twin.

    :param benchmark: as the description has it; :param name: with its unit at the end.
    :param value: what the twin gives, in the unit of the value.
    """

    twin: Twin
    benchmark: str
    name: str
    published: PublishedValue
    value: float

    @property
    def change_percent(self) -> float:
        """How far the twin is from the document."""
        return 100 * (self.value / self.published.value - 1)


def shipped() -> list[Twin]:
    """Return the twins of the collection.

    :raises TwinError: if something is wrong with a description.
    """
    return [description.load(file) for file in sorted(DESCRIPTIONS.glob("*.yaml"))]


def simulated(twin: Twin, bounds: Bounds | None = None) -> tuple[measured.Values, list[str]]:
    """Return what is measured on a twin, and the outputs.

    :raises TwinError: if a simulation does not end well.
    """

    def run(nodes: int, ppn: int, program: str, arguments: Sequence[str]) -> str:
        return output(twin, nodes, program, arguments, bounds or Bounds(), ppn=ppn)

    return measured.values(run, twin)


def simulate_all(twins: Iterable[Twin]) -> dict[str, measured.Values]:
    """Return what is measured on each twin, by name; as many are simulated at a time as there are CPUs.

    If one fails, or this is interrupted, the others are ended.
    """
    with pool(max(1, len(sched_getaffinity(0)))) as threads:
        asked = {twin.name: threads.ask(simulated, twin) for twin in twins}
        threads.wait()
        return {name: future.result()[0] for name, future in asked.items()}


def rows(twins: Iterable[Twin], found: Mapping[str, measured.Values]) -> list[Row]:
    """Return a row for every value of the documents."""
    return [
        Row(twin, benchmark, name, published, found[twin.name][benchmark, name.rpartition("_")[0]])
        for twin in twins
        for benchmark, values in twin.values.items()
        for name, published in values.items()
    ]


def as_json(row: Row) -> dict[str, object]:
    """Return a row for a program; its values are in the unit that ends its name."""
    place = place_of(row.twin, row.benchmark, row.name)
    return {
        "twin": row.twin.name,
        "figure": row.name,
        "check": place.check,
        "parameters": dict(place.parameters),
        "layout": str(place.layout),
        "metric": place.metric,
        "published": row.published.value,
        "simulated": row.value,
        "change_percent": row.change_percent,
        "evidence": row.published.twin,
        "source": row.published.source.text,
        "why_not": row.published.why_not or None,
    }


def text(twins: Sequence[Twin], found: Mapping[str, measured.Values]) -> str:
    """Return the whole file."""
    all_rows = rows(twins, found)
    fitted = [row for row in all_rows if row.published.twin == FITTED]
    predicted = [row for row in all_rows if row.published.twin != FITTED and not row.published.why_not]
    failed = [row for row in all_rows if row.published.why_not]
    said = [(twin, saying) for twin in twins for saying in twin.said]
    parts = [
        _HEAD,
        _FITTED.format(count=len(fitted)),
        *_table(("twin", "value", "published", "twin gives", "", "source"), map(_cells, fitted)),
        _PREDICTED.format(count=len(predicted)),
        *_table(("twin", "value", "published", "twin gives", "", "source"), map(_cells, predicted)),
        _NOT_REPRODUCED.format(count=len(failed)),
        *_table(
            ("twin", "value", "published", "twin gives", "", "source", "why"),
            ((*_cells(row), row.published.why_not) for row in failed),
        ),
        _SAID.format(count=len(said)),
        *_table(
            ("twin", "what is said", "bound", "source", "the twin"),
            (
                (
                    twin.name,
                    saying.text,
                    f"`{saying.check}` {saying.layout} `{saying.metric}` {saying.bound.replace('_', ' ')} "
                    f"{saying.value:g}{'' if saying.unit == '1' else f' {saying.unit}'}",
                    saying.source.text,
                    f"does not: {saying.why_not}" if saying.why_not else _does_so(saying),
                )
                for twin, saying in said
            ),
        ),
    ]
    return "\n".join(parts) + "\n"


def _does_so(saying: Saying) -> str:
    return "does so: fitted" if saying.is_fitted else "does so"


def _cells(row: Row) -> tuple[str, ...]:
    place = place_of(row.twin, row.benchmark, row.name)
    unit = UNITS[row.name.rpartition("_")[2]]
    parameters = "".join(f" {value}" for value in place.parameters.values())
    change = f"{row.change_percent:+.2f} %"
    return (
        row.twin.name,
        f"`{place.check}`{parameters} {place.layout} `{place.metric}`",
        f"{row.published.value:g} {unit}",
        value_text(row.value),
        "0.00 %" if change in ("+0.00 %", "-0.00 %") else change,
        row.published.source.text,
    )


def _table(titles: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(titles)
    yield _line(["---"] * len(titles))
    yield from map(_line, lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
