# SPDX-License-Identifier: BSD-3-Clause
"""Read clauses of a contract from YAML, and refuse those that are wrong or cannot be decided.

``config/clauses`` has examples, docs/clauses.md describes every key. Keys of a clause that the top of the
file has, too, are defaults of all clauses there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from fabric_checks.core import files, schema, yaml_file
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.schema import Pattern, Text, option, rules
from fabric_checks.core.text import value_text
from fabric_offers.acceptance import sequential
from fabric_offers.acceptance.sequential import Design, Model

_SHOWN = "docs/clauses.md lists the keys"
LINE_RATE, MEDIAN = "line rate", "median"
#: The fields by which records are chosen, and what another series may have instead.
SELECTING = (
    "system",
    "partition",
    "environ",
    "check",
    "layout",
    "metric",
    "parameters",
)

Risk = Annotated[float, rules(minimum=1e-4, maximum=0.4)]
Bound = Annotated[float, rules(minimum=-1e15, maximum=1e15)]
Share = Annotated[float, rules(minimum=0, maximum=1)]
Loss = Annotated[float, rules(minimum=0.001, maximum=1)]
Hundreds = Annotated[int, rules(minimum=1, maximum=1000)]
Tens = Annotated[int, rules(minimum=1, maximum=100)]
Rate = Annotated[float, rules(minimum=1e-3, maximum=1e9)]
Spread = Annotated[float, rules(minimum=1e-6, maximum=10)]
Kinds = Literal[
    "port", "rail", "host", "wire", "gpu", "sender", "receiver", "node", "pair", "cable", "uplink", "switch",
    "group"
]  # fmt: skip
Role = Literal["seller", "buyer"]
Same = Literal[
    "mpi", "compiler", "program_version", "collection", "reframe", "spec_hash", "image_digest", "nodelist",
    "binding"
]  # fmt: skip


class ClauseError(RecordError):
    """A clause that cannot be used: file, clause, cause and remedy in one line."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The fields by which records are chosen."""

    partition: Pattern = option("a regular expression that matches in full", "")
    environ: Pattern = option("a regular expression that matches in full", "")
    check: Pattern = option("a regular expression that matches in full", "")
    layout: Pattern = option("a regular expression that matches in full", "")
    metric: Pattern = option("a regular expression that matches in full", "")
    parameters: Mapping[str, Text] = option(
        "of the check, as in {pattern: shift}", make=dict
    )

    @property
    def select(self) -> dict[str, Any]:
        """Return what is chosen by, of :data:`SELECTING`."""
        return {
            name: found for name in SELECTING if (found := getattr(self, name, None))
        }


@dataclass(frozen=True, kw_only=True)
class Of(Selection):
    """What values are divided by: a number with its source, or another series of the same session."""

    value: Annotated[float, rules(minimum=1e-12, maximum=1e15)] | None = option(
        "that number"
    )
    source: Text = option("where it is written", "")

    def __post_init__(self) -> None:
        """Refuse what is neither or both."""
        if bool(self.select) == (self.value is not None) or (
            self.source and self.value is None
        ):
            raise ValueError(
                "a value with its source, or the fields of another series is expected"
            )


@dataclass(frozen=True, kw_only=True)
class Shared(Selection):
    """The keys that a clause or the top of its file may have."""

    unit: Literal["day", "session"] = option("what one number is made of", "day")
    runs: Hundreds = option(
        "how many runs (passes) a session has; the first ones count", 1
    )
    most: Hundreds = option("units that the clause allows", 0)
    least: Tens = option("units before which nothing is decided", 3)
    correlation: Annotated[float, rules(minimum=0, maximum=0.9)] = option(
        "of a unit with the one before", 0.3
    )
    spread: Spread = option(
        "how far a unit's value is from a machine's usual one, as a share", 0.0
    )
    seller_risk: Risk = option("that a good machine is refused", 0.05)
    buyer_risk: Risk = option("that a bad machine is accepted", 0.05)
    most_excluded: Annotated[int, rules(minimum=0, maximum=1000)] = option(
        "units that may be invalid", 3
    )
    link_MBps: Rate = option(
        "of a link, or of all of a node, as offered; else as in the system's file", 0.0
    )
    quiet: bool = option(
        "no other processes may have taken cores from the ranks of the first node",
        False,
    )
    one: tuple[Same, ...] = option(
        "fields of which all runs must have the same value", ()
    )
    blind_from: Loss = option(
        "the loss of a node, as a share, that the run itself must have been able to name",
        0.0,
    )
    transport: bool = option(
        "the ports must have counted what the program moved", False
    )


@dataclass(frozen=True, kw_only=True)
class Clause(Shared):
    """One clause. The keys of the file are its fields."""

    name: Text = option("its name", ...)
    text: str = option("the wording of the contract", "")
    check: Pattern = option("a regular expression that matches in full", ...)
    over: Literal["runs", "nodes", "pairs"] = option(
        "values of a metric, or bandwidths of Rotate's pairs", "runs"
    )
    quantity: Literal["median", "slowest", "quantile", "share"] = option(
        "what is judged of them", "median"
    )
    share: Share | None = option(
        "of a quantile: which share of the runs, nodes or pairs reaches the value"
    )
    of: Literal["line rate", "median"] | Of | None = option(
        "what values are divided by"
    )
    good: Bound = option("a machine that has this must be accepted", ...)
    bad: Bound = option("a machine that has this must be refused", ...)
    at_least: Bound | None = option("of a share: what a unit has to reach")
    at_most: Bound | None = option("of a share: what a unit has to reach")
    free_of: tuple[Kinds, ...] = option(
        "of a share: the kinds of faults that a run may not name", ()
    )

    def __post_init__(self) -> None:
        """Refuse keys that do not go together, and numbers that contradict each other."""
        for text, holds in (self._missing() | self._contradictions()).items():
            if holds:
                raise ValueError(f"clause {quoted(self.name)}: {text}; {_SHOWN}")

    def _missing(self) -> dict[str, bool]:
        """Return what is missing, or goes with other keys, and whether that is so."""
        runs, is_share = self.over == "runs", self.quantity == "share"
        bounds = sum(
            (self.at_least is not None, self.at_most is not None, bool(self.free_of))
        )
        return {
            "'most' is missing": not self.most,
            "'metric' is missing": self.is_of_metric and not self.metric,
            (
                "over: nodes and over: pairs take median, slowest or quantile of the bandwidths of Rotate's "
                "pairs, and no metric"
            ): not runs and (is_share or bool(self.metric)),
            "of: median is that of all nodes or pairs of a run; 'over' has to be one of these": (
                runs and self.of == MEDIAN
            ),
            "'share' goes with quantity: quantile, which needs it": (
                (self.share is None) == (self.quantity == "quantile")
            ),
            "one of 'at_least', 'at_most' and 'free_of' goes with quantity: share, which needs it": (
                bounds != is_share
            ),
            "'spread' is missing: how far a unit's value is from a machine's usual one, as a share": (
                not is_share and not self.spread
            ),
        }

    def _contradictions(self) -> dict[str, bool]:
        """Return which bounds contradict each other or what links carry, and whether that is so."""
        is_share, runs = self.quantity == "share", self.over == "runs"
        good, rate, most = self.good, self.link_MBps, 2 if runs else 1
        return {
            "'good' and 'bad' of a share have to be between 0 and 1, and good above bad": (
                is_share and not 0 < self.bad <= good < 1
            ),
            (
                f"good and bad are both {good:g}: no number of runs tells machines at one bound apart; "
                "leave a distance between a machine that must be accepted and one that must be refused"
            ): good == self.bad,
            f"least is {self.least}, but most is {self.most}": self.least > self.most,
            (
                f"good is {good:g} of the line rate, which no link carries; ask for at most 1, "
                "of both ways for 2"
            ): self.of == LINE_RATE and not is_share and good > most,
            f"good is {good:g} MB/s, beyond the line rate of {rate:g} MB/s; ask for less": (
                not runs and not self.of and 0 < rate < good
            ),
            f"layout {self.layout} has one node, and no pairs of nodes": (
                not runs and self.layout.startswith("1x")
            ),
        }

    @property
    def is_of_metric(self) -> bool:
        """Whether a run's value is one of its metrics, not its bandwidths of pairs or its findings."""
        return self.over == "runs" and not self.free_of

    @property
    def larger_is_better(self) -> bool:
        """Tell which direction is better, by its two bounds."""
        return self.good > self.bad

    def is_reached_by(self, number: float) -> bool:
        """Return whether the number of a run is within the bounds of a share."""
        low = -math.inf if self.at_least is None else self.at_least
        return low <= number <= (math.inf if self.at_most is None else self.at_most)

    @property
    def model(self) -> Model:
        """The distribution that it is tested by."""
        if self.quantity == "share":
            return Model(self.good, self.bad, correlation=self.correlation)
        spread = max(
            self.spread * abs(self.good),
            abs(self.good - self.bad) / sequential.FURTHEST,
        )
        return Model(self.good, self.bad, spread, self.correlation)

    @property
    def design(self) -> Design:
        """Its test, which exists: a clause without one is refused when it is read."""
        found = sequential.design(
            self.model, self.seller_risk, self.buyer_risk, self.most, self.least
        )
        if found is None:
            raise ClauseError(f"clause {quoted(self.name)} has no test")
        return found

    @property
    def fixed_units(self) -> int:
        """How many units a test of a fixed size would take."""
        steps = sequential.fixed_steps(self.model, self.seller_risk, self.buyer_risk)
        return math.ceil(steps * self.model.design_effect - 1e-9)


@dataclass(frozen=True, kw_only=True)
class ClauseFile(Shared):
    """The clauses of a contract."""

    title: Text = option("of the document", ...)
    source: Text = option("where the clauses come from", "")
    parties: dict[Role, Text] = option("the two sides", make=dict)
    system: Text = option("whose records count", ...)
    period: dict[Literal["from", "to"], date] = option(
        "days in UTC; all sessions that begin in it count", make=dict
    )
    clauses: Annotated[tuple[Clause, ...], rules(minItems=1)] = option(
        "the clauses, at least one", ...
    )

    def __post_init__(self) -> None:
        """Refuse names that are not one clause's alone, and a period without a day."""
        names = [each.name for each in self.clauses]
        if double := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(
                f"two clauses are called {quoted(double)}; each needs a name of its own"
            )
        days = [self.period[end] for end in ("from", "to") if end in self.period]
        if days != sorted(days):
            raise ValueError(
                f"the period ends before it begins: {days[0]} to {days[-1]}; swap them"
            )


@dataclass(frozen=True, kw_only=True)
class Contract(ClauseFile):
    """The clauses of a file, and its SHA-256."""

    path: Path
    sha256: str


def read(path: Path) -> Contract:
    """Read the clauses of a file.

    :raises ClauseError: with file, clause, cause and remedy, if one is wrong or cannot be decided by its own
        terms.
    """
    try:
        top = yaml_file.load(path)
        found = schema.convert(
            _with_defaults(top), ClauseFile, path, lambda: yaml_file.lines(path)
        )
    except (yaml_file.YamlError, schema.SchemaError) as error:
        raise ClauseError(str(error)) from None
    for clause in found.clauses:
        _require_test(clause, path)
    sha256 = hashlib.sha256(files.read_bytes(path)).hexdigest()
    return Contract(**vars(found), path=path, sha256=sha256)


def _with_defaults(top: Any) -> Any:
    """Return the content of a file whose clauses have what the top of the file has for all."""
    if not isinstance(top, dict) or not isinstance(top.get("clauses"), list):
        return top
    shared = {
        field.name: top[field.name] for field in fields(Shared) if field.name in top
    }
    return top | {
        "clauses": [
            shared | each if isinstance(each, dict) else each for each in top["clauses"]
        ]
    }


def _require_test(clause: Clause, path: Path) -> None:
    """Raise :class:`ClauseError` for a clause whose risks no test within its units has."""
    asked = (clause.model, clause.seller_risk, clause.buyer_risk)
    if sequential.design(*asked, clause.most, clause.least):
        return
    units = sequential.needed(*asked, clause.least)
    more = f"more than {sequential.MOST_UNITS}" if units is None else str(units)
    good, bad = (number_text(clause, bound) for bound in (clause.good, clause.bad))
    raise ClauseError(
        f"{path}: clause {quoted(clause.name)}: its risks, {100 * clause.seller_risk:g} % (seller) and "
        f"{100 * clause.buyer_risk:g} % (buyer), between {good} and {bad} take {more} {clause.unit}s, but "
        f"most is {clause.most}: allow as many, take good and bad further apart, or accept larger "
        f"risks; {_SHOWN}"
    )


def number_text(clause: Clause, value: float, unit: str = "") -> str:
    """Return a number of a clause as it is printed: a share or a ratio in per cent, a value with its unit."""
    if clause.quantity == "share" or clause.of in (LINE_RATE, MEDIAN):
        return f"{100 * value:.4g} %"
    return f"{value_text(value)} {unit}".rstrip()
