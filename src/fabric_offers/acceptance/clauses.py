# SPDX-License-Identifier: BSD-3-Clause
"""Read clauses of a contract from YAML, and refuse those that are wrong or cannot be decided.

``config/clauses`` has examples, docs/clauses.md describes every key. Keys of a clause that the top of the file has,
too, are defaults of all clauses there.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import value_text
from fabric_checks.records.record import FIELDS
from fabric_offers import schema
from fabric_offers.acceptance import sequential
from fabric_offers.acceptance.sequential import Design, Model

#: What a file of clauses may have.
SCHEMA = ROOT / "config" / "clauses" / "schema.json"
_SHOWN = "docs/clauses.md lists the keys"
#: A unit that is missing, or a run that failed, counts as the worst that it can be.
BAD = "bad"
LINE_RATE, MEDIAN = "line rate", "median"
#: The fields by which records are chosen, and what another series may have instead.
SELECTING = ("system", "partition", "environ", "check", "layout", "metric", "parameters")


class ClauseError(RecordError):
    """A clause that cannot be used: file, clause, cause and remedy in one line."""


@dataclass(frozen=True)
class Valid:
    """Hold the conditions of a valid run; one that the clause does not state is not checked.

    :param quiet: whether no other processes may have taken cores from the ranks of the first node.
    :param binding: of ranks to cores, as records have it. :param versions: regular expressions by field of the record.
    :param one: fields of which all runs must have the same value, such as ``mpi``.
    :param blind_from: the loss of a node, as a share, that the run itself must have been able to name.
    :param transport: whether the ports must have counted what the program moved.
    """

    quiet: bool = False
    binding: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    one: tuple[str, ...] = ()
    blind_from: float = 0.0
    transport: bool = False


@dataclass(frozen=True)
class Clause:
    """One clause. The keys of the file are its fields.

    :param select: regular expressions by field of records, and ``parameters``, values by name.
    :param of: what values are divided by: nothing, the line rate, the median of the run, a number, or another series.
    :param of_value: that number; :param of_source: where it is written; :param of_select: the fields of that series.
    :param share: of a quantile: which share of the runs, nodes or pairs reaches the value.
    :param at_least, at_most: of a share: what a unit has to reach.
    :param free_of: of a share instead: the kinds of faults that no finding of a run may name for certain.
    """

    name: str
    text: str
    select: Mapping[str, Any]
    over: str
    quantity: str
    good: float
    bad: float
    seller: float
    buyer: float
    unit: str
    most: int
    least: int
    correlation: float
    sessions: int
    runs: int
    missing: str
    failed: str
    most_excluded: int
    valid: Valid
    spread: float = 0.0
    length: float = 0.0
    share: float = 0.5
    of: str = ""
    of_value: float = 0.0
    of_source: str = ""
    of_select: Mapping[str, Any] = field(default_factory=dict)
    line_rate_MBps: float = 0.0
    at_least: float | None = None
    at_most: float | None = None
    free_of: tuple[str, ...] = ()

    @property
    def is_of_metric(self) -> bool:
        """Whether a run's value is one of its metrics, not its bandwidths of pairs or its findings."""
        return self.over == "runs" and not self.free_of

    @property
    def larger_is_better(self) -> bool:
        """Tell which direction is better, by its two bounds."""
        return self.good > self.bad

    @property
    def model(self) -> Model:
        """The distribution that it is tested by."""
        if self.quantity == "share":
            return Model(self.good, self.bad, correlation=self.correlation)
        spread = self.spread if self.quantity == "drift" else self.spread * abs(self.good)
        spread = max(spread, abs(self.good - self.bad) / sequential.FURTHEST)
        return Model(self.good, self.bad, spread, self.correlation, self.quantity == "drift", self.length or 1.0)

    @property
    def design(self) -> Design:
        """Its test, which exists: a clause without one is refused when it is read."""
        found = sequential.design(self.model, self.seller, self.buyer, self.most, self.least)
        if found is None:
            raise ClauseError(f"clause {quoted(self.name)} has no test")
        return found

    @property
    def fixed_units(self) -> int:
        """How many units a test of a fixed size would take."""
        return math.ceil(sequential.fixed_steps(self.model, self.seller, self.buyer) * self.model.scale - 1e-9)


@dataclass(frozen=True)
class Contract:
    """The clauses of a file.

    :param sha256: of the file. :param since, until: the first and the last day, in UTC, of the sessions that count.
    """

    path: Path
    sha256: str
    title: str
    source: str
    parties: Mapping[str, str]
    system: str
    since: date | None
    until: date | None
    clauses: tuple[Clause, ...]


def read(path: Path) -> Contract:
    """Read the clauses of a file.

    :raises ClauseError: with file, clause, cause and remedy, if one is wrong or cannot be decided by its own terms.
    """
    try:
        top = yaml_file.load(path)
        period = top.get("period") if isinstance(top, dict) else None
        if isinstance(period, dict):
            top["period"] = {key: str(day) for key, day in period.items()}
        schema.require(SCHEMA, top, "file")
    except yaml_file.YamlError as error:
        raise ClauseError(str(error)) from None
    except ValueError as error:
        raise ClauseError(f"{path}: {error}; {_SHOWN}") from None
    days = top.get("period", {})
    since, until = (date.fromisoformat(days[key]) if key in days else None for key in ("from", "to"))
    clauses = tuple(_clause(path, number, each, top) for number, each in enumerate(top["clauses"], 1))
    names = [each.name for each in clauses]
    if double := next((name for name in names if names.count(name) > 1), ""):
        raise ClauseError(f"{path}: two clauses are called {quoted(double)}; each needs a name of its own")
    if since and until and since > until:
        raise ClauseError(f"{path}: the period ends before it begins: {since} to {until}; swap them")
    sha256 = hashlib.sha256(files.read_bytes(path)).hexdigest()
    texts = (str(top["title"]), str(top.get("source", "")), top.get("parties", {}), str(top["system"]))
    return Contract(path, sha256, *texts, since, until, clauses)


def _clause(path: Path, number: int, own: Any, top: Mapping[str, Any]) -> Clause:
    name = own.get("name") if isinstance(own, dict) else None
    where = f"{path}: clause {quoted(str(name))}" if name else f"{path}: clause {number}"
    try:
        schema.require(SCHEMA, own, "clause")
        definitions = schema.load(SCHEMA)["definitions"]
        known = definitions["clause"]["properties"]
        keys = {key: each["default"] for key, each in known.items() if "default" in each}
        keys |= {key: each for key, each in top.items() if key in known} | own
        for key, default in (("valid", {}), ("risks", {"seller": 0.05, "buyer": 0.05})):
            keys[key] = {**default, **top.get(key, {}), **own.get(key, {})}
        for rule in definitions["whole clause"]["allOf"]:
            if not Draft7Validator(rule).is_valid(keys):
                raise ValueError(rule["title"])
        found = _built(keys, str(top["system"]))
        _require_sound(found)
    except ValueError as error:
        raise ClauseError(f"{where}: {error}; {_SHOWN}") from None
    asked = (found.model, found.seller, found.buyer)
    if not sequential.design(*asked, found.most, found.least):
        units = sequential.needed(*asked, found.least)
        more = f"more than {sequential.MOST_UNITS}" if units is None else str(units)
        raise ClauseError(
            f"{where}: its risks, {100 * found.seller:g} % (seller) and {100 * found.buyer:g} % (buyer), between "
            f"{number_text(found, found.good)} and {number_text(found, found.bad)} take {more} {found.unit}s, but most "
            f"is {found.most}: allow as many, take good and bad further apart, or accept larger risks"
        )
    return found


def _built(keys: dict[str, Any], system: str) -> Clause:
    of, valid = keys.pop("of", ""), Valid(**keys.pop("valid"))
    if unknown := [name for name in (*valid.one, *valid.versions) if name not in FIELDS]:
        raise ValueError(f"valid: records have no field {schema.near(unknown[0], FIELDS)}")
    if keys["quantity"] == "drift":
        if min(keys["good"], keys["bad"]) <= -1:
            raise ValueError("a change of -1 leaves nothing; 'good' and 'bad' of a drift are shares, as in -0.05")
        keys |= {key: math.log1p(keys[key]) for key in ("good", "bad")}
    if isinstance(of, dict):
        keys |= {"of_value": of.get("value", 0.0), "of_source": str(of.get("source", "")), "of_select": _selection(of)}
        of = "value" if "value" in of else "series"
    select = _selection(keys) | {"system": re.escape(system)}
    rest = {key: each for key, each in keys.items() if key not in (*SELECTING, "risks")}
    return Clause(**rest, **keys["risks"], select=select, valid=valid, of=of)


def _selection(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields by which records are chosen, their values as text."""
    found: dict[str, Any] = {key: str(keys[key]) for key in SELECTING if key in keys}
    if "parameters" in found:
        found["parameters"] = {str(name): str(value) for name, value in keys["parameters"].items()}
    return found


def _require_sound(clause: Clause) -> None:
    """Raise ValueError for numbers that contradict each other, and for bounds beyond the line rate."""
    runs, is_share, good = clause.over == "runs", clause.quantity == "share", clause.good
    rate, layout = clause.line_rate_MBps, str(clause.select.get("layout", ""))
    contradictions = {
        f"good and bad are both {good:g}: no number of runs tells machines at one bound apart; leave a distance "
        "between a machine that must be accepted and one that must be refused": good == clause.bad,
        "'good' and 'bad' of a share have to be between 0 and 1, and good above bad": is_share and good < clause.bad,
        f"least is {clause.least}, but most is {clause.most}": clause.least > clause.most,
        f"good is {good:g} of the line rate, which no link carries; ask for at most 1, of both ways at once for 2": (
            clause.of == LINE_RATE and not is_share and good > (2 if runs else 1)
        ),
        f"good is {good:g} MB/s, beyond the line rate of {rate:g} MB/s; ask for less": (
            bool(rate) and not runs and not clause.of and good > rate
        ),
        f"layout {layout} has one node, and no pairs of nodes": not runs and layout.startswith("1x"),
    }
    for text, holds in contradictions.items():
        if holds:
            raise ValueError(text)


def number_text(clause: Clause, value: float, unit: str = "") -> str:
    """Return a number of a clause as it is printed: a share or a ratio in per cent, a value with its unit."""
    if clause.quantity == "drift":
        return f"{100 * math.expm1(value):+.2f} %"
    if clause.quantity == "share" or clause.of in (LINE_RATE, MEDIAN):
        return f"{100 * value:.4g} %"
    return f"{value_text(value)} {unit}".rstrip()
