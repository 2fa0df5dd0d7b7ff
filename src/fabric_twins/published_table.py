# SPDX-License-Identifier: BSD-3-Clause
"""Compare the values that documents report with those of the twins: the tables of
`config/twins/README.md`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import value_text
from fabric_twins import measured
from fabric_twins.model.description import (
    FITTED,
    PREDICTED,
    Case,
    PublishedValue,
    Statement,
    Twin,
    load_all,
)
from fabric_twins.processes import run_all
from fabric_twins.simulate import Bounds, output

#: Where the descriptions are.
DESCRIPTIONS = ROOT / "config/twins"

#: The file that has the table.
README = DESCRIPTIONS / "README.md"

_HEAD = """\
# Twins: simulated clusters that stand for published ones

Each file here describes one twin: nodes, costs of messages, buses, topology, routing, and the values that the documents
report for it, with the source of every value. `ci/run --system NAME` runs the checks on it; `ci/run --system twins`
runs them on all twins. `src/fabric_twins/model/description.py` documents the keys of a description.

Sources: SAND, SAND2005-5199, *An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath* (Sandia, 2005). ROTATE:
Naegle, e-mails on cross-sectional bandwidth testing on Feynman and Rogue (June 2004). OSU03: Liu et al.,
*Micro-Benchmark Level Performance Comparison of High-Speed Interconnects* (2003). DYNA: Jonsson and Magro, InfiniBand
and Gigabit Ethernet on Itanium 2 clusters (MPP-DYNA). IBM12X: Vishnu, Benton and Panda, *High Performance MPI on IBM
12x InfiniBand*.

Everything below this line is written by `fabric-checks twin table --write` from simulations; a test fails when it is
stale."""  # noqa: E501  (the text of config/twins/README.md)

#: Title and introduction of each table.
_TABLES = (
    (
        "Fitted: {} values",
        "A parameter was chosen to reproduce the value, so agreement here is no evidence for anything.",
    ),
    (
        "Predicted: {} values",
        (
            "These follow from parameters that were chosen for other values. They are what a twin can be"
            " judged by."
        ),
    ),
    (
        "Not reproduced: {} values",
        (
            "Predictions that fail, and why. The checks expect them to fail, and it is an error if one starts"
            " to pass unnoticed."
        ),
    ),
    (
        "Statements without a number: {}",
        "Bounds on what a check measures; the direction is the document's, the rough factor is ours.",
    ),
)


@dataclass(frozen=True)
class Row:
    """A value of the documents, and that of the twin, in the same unit."""

    twin: Twin
    case: Case
    published: PublishedValue
    value: float

    @property
    def change_percent(self) -> float:
        """The difference of the twin from the document, in percent of the latter."""
        return 100 * (self.value / self.published.value - 1)


def shipped() -> list[Twin]:
    """Return the twins of the collection.

    :raises TwinError: if something is wrong with a description.
    """
    return load_all(DESCRIPTIONS)


def simulated(
    twin: Twin, bounds: Bounds | None = None
) -> tuple[measured.Values, list[str]]:
    """Return the values that are measured on a twin, and the outputs.

    :raises TwinError: if a simulation does not end well.
    """

    def run(nodes: int, ppn: int, program: str, arguments: Sequence[str]) -> str:
        return output(twin, nodes, program, arguments, bounds or Bounds(), ppn=ppn)

    return measured.values(run, twin)


def simulate_all(twins: Iterable[Twin]) -> dict[str, measured.Values]:
    """Return the values that are measured on each twin, by name; as many are simulated at a time as there are
    CPUs.

    If one fails, or this is interrupted, the others are ended.
    """
    found = run_all({twin.name: partial(simulated, twin) for twin in twins})
    return {name: values for name, (values, _) in found.items()}


def rows(twins: Iterable[Twin], found: Mapping[str, measured.Values]) -> list[Row]:
    """Return a row for every value of the documents."""
    return [
        Row(twin, case, published, values[published.metric])
        for twin in twins
        for case, values in zip(twin.cases, found[twin.name], strict=True)
        for published in case.values
    ]


def as_json(row: Row) -> dict[str, object]:
    """Return a row as data for JSON."""
    return {
        "twin": row.twin.name,
        "check": row.case.check,
        "parameters": dict(row.case.parameters),
        "layout": str(row.case.layout),
        "metric": row.published.metric,
        "unit": row.published.unit,
        "published": row.published.value,
        "simulated": row.value,
        "change_percent": row.change_percent,
        "evidence": row.published.twin,
        "source": row.published.source.text,
        "why_not": row.published.why_not or None,
    }


def text(twins: Sequence[Twin], found: Mapping[str, measured.Values]) -> str:
    """Return the whole file."""
    titles = ("twin", "value", "published", "twin gives", "", "source")
    cells: dict[str, list[tuple[str, ...]]] = {FITTED: [], PREDICTED: [], "": []}
    for row in rows(twins, found):
        why = row.published.why_not
        cells["" if why else row.published.twin].append(
            (*_cells(row), *([why] if why else []))
        )
    tables = (
        (titles, cells[FITTED]),
        (titles, cells[PREDICTED]),
        ((*titles, "why"), cells[""]),
        (
            ("twin", "statement", "bound", "source", "the twin"),
            [
                _statement_cells(twin, each)
                for twin in twins
                for each in twin.statements
            ],
        ),
    )
    lines = [_HEAD]
    for (title, introduction), (header, listed) in zip(_TABLES, tables, strict=True):
        lines += ["", f"## {title.format(len(listed))}", "", introduction, ""]
        lines += map(_line, [header, ("---",) * len(header), *listed])
    return "\n".join(lines) + "\n"


def _statement_cells(twin: Twin, statement: Statement) -> tuple[str, ...]:
    return (
        twin.name,
        statement.text,
        _bound(statement),
        statement.source.text,
        _outcome(statement),
    )


def _bound(statement: Statement) -> str:
    unit = "" if statement.unit == "1" else f" {statement.unit}"
    where = f"`{statement.check}` {statement.layout} `{statement.metric}`"
    return f"{where} {statement.bound.replace('_', ' ')} {statement.value:g}{unit}"


def _outcome(statement: Statement) -> str:
    if statement.why_not:
        return f"does not: {statement.why_not}"
    return "does so: fitted" if statement.is_fitted else "does so"


def _cells(row: Row) -> tuple[str, ...]:
    case, published = row.case, row.published
    parameters = "".join(f" {value}" for value in case.parameters.values())
    change = f"{row.change_percent:+.2f} %"
    return (
        row.twin.name,
        f"`{case.check}`{parameters} {case.layout} `{published.metric}`",
        f"{published.value:g} {published.unit}",
        value_text(row.value),
        "0.00 %" if change in ("+0.00 %", "-0.00 %") else change,
        published.source.text,
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
