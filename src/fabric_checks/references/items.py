# SPDX-License-Identifier: BSD-3-Clause
"""The three lists of a reference file: reasons for no reference, shares of the line rate, origins of
simulated values.

Each item selects metrics by optional regular expressions, which match in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from fabric_checks.core.layouts import Layout
from fabric_checks.core.schema import Pattern, Text, option, rules


@dataclass(frozen=True, kw_only=True)
class Item:
    """Select metrics."""

    check: Pattern = option("names of check classes", "")
    partition: Pattern = option("full names of partitions, as in ada:compute", "")
    environ: Pattern = option("names of environments", "")
    layout: Pattern = option("layouts, as in 2x1", "")
    metric: Pattern = option("names of metrics", "")

    @property
    def patterns(self) -> dict[str, str]:
        """The regular expressions that are given."""
        named = ("check", "partition", "environ", "layout", "metric")
        return {name: found for name in named if (found := getattr(self, name))}

    def covers(self, **case: str) -> bool:
        """Return whether a metric is selected; ``case`` has its check, partition, environ, layout and
        name."""
        return all(
            re.fullmatch(pattern, case[name]) for name, pattern in self.patterns.items()
        )


@dataclass(frozen=True, kw_only=True)
class Reason(Item):
    """Why metrics have no reference."""

    why: Text = option("the reason", ...)


@dataclass(frozen=True, kw_only=True)
class Evidence(Item):
    """Where simulated values and their references come from."""

    evidence: Literal["fitted", "predicted", "said", "simulated"] = option(
        "by a parameter fitted to it, parameters fitted to others, a document without a number, or no"
        " document",
        ...,
    )
    source: Text = option("the document, and where in it", "")

    def __post_init__(self) -> None:
        """Refuse a value of a document without it."""
        if self.evidence != "simulated" and not self.source:
            raise ValueError(f"{self.evidence!r} needs its 'source'")


@dataclass(frozen=True, kw_only=True)
class Rule(Item):
    """A share of the line rate that metrics are held to, between nodes only: within a node no link is
    used."""

    metric: Pattern = option("names of metrics", ...)
    share_of_line_rate: Annotated[float, rules(exclusiveMinimum=0, maximum=2)] = option(
        "up to 1, or 2 for metrics that count both directions", ...
    )
    lower: Annotated[float, rules(exclusiveMinimum=-1, maximum=0)] | None = option(
        "a share below that passes"
    )
    upper: Annotated[float, rules(minimum=0)] | None = option(
        "a share above that passes"
    )

    def __post_init__(self) -> None:
        """Refuse a rule that judges nothing."""
        if self.lower is None and self.upper is None:
            raise ValueError("has no bound; give it lower or upper")

    def covers(self, **case: str) -> bool:
        """Return whether the metric is one between nodes that the rule is for."""
        return Layout.of(case["layout"]).nodes > 1 and super().covers(**case)


@dataclass(frozen=True, kw_only=True)
class Lists:
    """The lists of a reference file; its other keys are names of check classes."""

    no_reference: tuple[Reason, ...] | None = option(
        "metrics without a reference, and why"
    )
    derived: tuple[Rule, ...] | None = option(
        "metrics that are held to a share of the line rate"
    )
    evidence: tuple[Evidence, ...] | None = option(
        "of simulated systems: where values come from"
    )
