# SPDX-License-Identifier: BSD-3-Clause
"""The section of the families and layouts that were not measured, and how to measure them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.report.blocks import Lines, Section, grouped
from fabric_checks.report.values import Results, Value

#: Layouts that people look for: how to measure them, and whether a value is of one.
_LAYOUTS: Mapping[str, Callable[[Value], bool]] = {
    (
        "between nodes: a system of two nodes or more (docs/adding-a-system.md), "
        "or `--system minicluster` to try it"
    ): lambda value: (value.record["nodes"] or 0) > 1,
    "within a node: the level nightly, or the default run": lambda value: value.record["nodes"] == 1,
}
#: What needs several nodes.
_COMPARISON = "one process a node against more: `ci/run --tag ppn-ratio`"


def section(results: Results) -> Section:
    """Return the families, layouts and suites that a machine lacks; those that no machine has are listed
    once."""
    lacking = {line: _lacking(results, results.machines, is_of) for line, is_of in _LAYOUTS.items()}
    several = {value.machine for value in results.values if (value.record["nodes"] or 0) > 1}
    lacking[_COMPARISON] = _lacking(results, sorted(several), lambda value: bool(value.record["compared"]))
    for family in families.KNOWN:
        line = f"{family.partition(':')[0]}: `ci/run --tag {tag(family)}`"
        lacking[line] = _lacking(results, results.machines, _is_of(family))
    for machine in results.machines:
        for suite, why in results.not_offered.get(machine, {}).items():
            lacking.setdefault(f"{suite}: {why}", []).append(machine)
    everywhere = list(results.machines)
    listed = grouped(
        ("" if machines == everywhere else ", ".join(machines), line)
        for line, machines in lacking.items()
        if machines
    )
    title = "What was not measured, and how to measure it"
    lines = Lines("not-measured-list", title, tuple(sorted(listed)), "Nothing.")
    return Section("not-measured", "Not measured", (lines,))


def _is_of(family: str) -> Callable[[Value], bool]:
    return lambda value: value.family == family


def _lacking(results: Results, machines: Iterable[str], is_of: Callable[[Value], bool]) -> list[str]:
    """Return those of some machines that have no value of a kind."""
    having = {value.machine for value in results.values if is_of(value)}
    return [machine for machine in machines if machine not in having]
