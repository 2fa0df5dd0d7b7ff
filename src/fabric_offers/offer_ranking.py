# SPDX-License-Identifier: BSD-3-Clause
"""Rank offers by the buyer's criteria and weights, and compute how far the order depends on single runs.

The score of an offer is the weighted geometric mean of its ratios to the best offer, by criterion: of the
medians, and of the prices. With a geometric mean of ratios the order does not depend on which offer they are
ratios to (Fleming and Wallace, How not to lie with statistics: the correct way to summarize benchmark
results, CACM 29(3), 1986).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any

import numpy as np
import polars as pl

from fabric_checks.core import schema
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.schema import Pattern, Text, option, rules

PRICE = "price"
#: Fields of records that a ranking needs.
FIELDS = (
    "check",
    "parameters",
    "layout",
    "metric",
    "unit",
    "better",
    "value",
    "test",
    "time",
    "case_result",
)
#: The values of each series, by label of the offer and name of the criterion.
Samples = dict[tuple[str, str], list[np.ndarray]]
#: How often medians are drawn anew from the runs.
DRAWS = 10_000
_SEED = 20260101


Weight = Annotated[float, rules(minimum=0, maximum=1e30)]
Price = Annotated[float, rules(exclusiveMinimum=0, maximum=1e30)]
Bound = Annotated[float, rules(minimum=-1e30, maximum=1e30)]


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A criterion that offers are compared by."""

    name: Text = option("its name; 'price' is reserved for the price", ...)
    weight: Weight = option("how much it counts", 0.0)
    check: Pattern = option("a regular expression that matches in full", ...)
    metric: Pattern = option("a regular expression that matches in full", ...)
    layout: Pattern = option("a regular expression that matches in full", "")
    parameters: dict[str, Text] = option("by name", make=dict)
    at_least: Bound | None = option("the requirement, in the metric's unit")
    at_most: Bound | None = option("the requirement, in the metric's unit")

    @property
    def patterns(self) -> dict[str, str]:
        """Return the regular expressions by field of records."""
        return {
            name: found
            for name in ("check", "metric", "layout")
            if (found := getattr(self, name))
        }


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The buyer's file; docs/offers.yaml is an example."""

    currency: str = option("of the prices", "")
    criteria: tuple[Criterion, ...] = option("what decides", ...)
    price_weight: Weight = option("how much the price counts", 0.0)
    prices: dict[str, Price] = option("by label", make=dict)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the criteria that decide, and of the price."""
        given = {each.name: each.weight for each in self.criteria} | {
            PRICE: self.price_weight
        }
        return {name: weight for name, weight in given.items() if weight}

    def __post_init__(self) -> None:
        """Refuse criteria by which nothing can be decided."""
        names = {each.name for each in self.criteria} - {PRICE}
        if not names or len(names) < len(self.criteria):
            raise ValueError(
                "there must be at least one criterion, and each needs its own name; 'price' is reserved for"
                " the price"
            )
        if not self.weights:
            raise ValueError("all weights are 0, so nothing decides")


@dataclass
class Offer:
    """An offer, ranked.

    :param medians: by criterion, and the price; :param runs: how many values each is of. :param units: of
        them.
    :param ratios: to the best, 1 for that itself.
    :param misses: the requirements it does not meet, and values it lacks: then it has no score.
    """

    label: str
    medians: dict[str, float] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    score: float | None = None
    first_by_runs: float = 0.0


def read(path: Path) -> Rules:
    """Read the buyer's file.

    :raises RecordError: with file, place and cause, if it cannot be used.
    """
    try:
        return schema.read(path, Rules)
    except schema.SchemaError as error:
        raise RecordError(f"{error}; docs/offers.yaml shows the form") from None


def rank(rules: Rules, frame: pl.DataFrame, labels: Sequence[str]) -> list[Offer]:
    """Return the offers, the best first, those without a score last.

    :param frame: records with a column ``side`` and :data:`FIELDS`. :param labels: the sides.
    :raises RecordError: if a criterion is of metrics of several units, or can be 0.
    """
    offers = [Offer(label) for label in labels]
    signs = {PRICE: -1.0}
    samples: Samples = {}
    for criterion in rules.criteria:
        signs[criterion.name] = _measure(offers, criterion, frame, samples)
    for offer in offers:
        if offer.label in rules.prices:
            offer.medians[PRICE] = rules.prices[offer.label]
            offer.units[PRICE] = rules.currency
        elif rules.price_weight:
            offer.misses.append("no price")
    if standing := [offer for offer in offers if not offer.misses]:
        _score(standing, signs, rules.weights)
        _draw_runs(standing, samples, signs, rules.weights)
    return sorted(offers, key=lambda offer: (bool(offer.misses), -(offer.score or 0)))


def _measure(
    offers: Sequence[Offer], criterion: Criterion, frame: pl.DataFrame, samples: Samples
) -> float:
    """Take the values of each offer by a criterion, and return 1 if larger ones are better, else -1."""
    found = _of(frame, criterion)
    units, better = set(found["unit"].drop_nulls()), set(found["better"].drop_nulls())
    if len(units) > 1 or len(better) > 1:
        raise RecordError(
            f"criterion {quoted(criterion.name)} matches metrics in {' and '.join(sorted(units))}: narrow it"
            " to one"
        )
    for offer in offers:
        series = found.filter(pl.col("side") == offer.label).group_by(
            "test", "metric", maintain_order=True
        )
        values = samples[offer.label, criterion.name] = [
            group["value"].to_numpy() for _, group in series
        ]
        _take(offer, criterion, values, "".join(units))
    return 1.0 if better == {"larger"} else -1.0


def _of(frame: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    condition = pl.col("value").is_not_null() & pl.col("case_result").is_in(
        ["pass", "xfail"]
    )
    for name, pattern in criterion.patterns.items():
        fitting = [
            each
            for each in frame[name].unique().to_list()
            if each and re.fullmatch(pattern, each)
        ]
        condition &= pl.col(name).is_in(fitting)
    for name, value in criterion.parameters.items():
        condition &= pl.col("test").str.split(" ").list.contains(f"%{name}={value}")
    return frame.filter(condition)


def _take(offer: Offer, criterion: Criterion, values: Sequence[Any], unit: str) -> None:
    """Take the median of an offer by a criterion, and hold it to what has to be met."""
    name = criterion.name
    if not values:
        where = " ".join(criterion.patterns.values())
        offer.misses.append(f"{name}: not measured ({where})")
        return
    medians = [float(np.median(each)) for each in values]
    if min(medians) <= 0:
        raise RecordError(
            f"criterion {quoted(name)}: a median is {min(medians):g}, but ratios need values above 0"
        )
    median = geometric_mean(medians)
    offer.medians[name], offer.units[name] = median, unit
    offer.runs[name] = min(map(len, values))
    low, high = criterion.at_least, criterion.at_most
    if low is not None and median < low:
        offer.misses.append(
            f"{name}: {median:.4g} {unit}, but at least {low:g} is required"
        )
    if high is not None and median > high:
        offer.misses.append(
            f"{name}: {median:.4g} {unit}, but at most {high:g} is allowed"
        )


def _score(
    offers: Sequence[Offer], signs: Mapping[str, float], weights: Mapping[str, float]
) -> None:
    logs = np.array(
        [
            [signs[name] * math.log(offer.medians[name]) for name in weights]
            for offer in offers
        ]
    )
    relative = logs - logs.max(axis=0)
    own = np.array(list(weights.values()))
    for offer, row in zip(offers, relative, strict=True):
        offer.ratios = dict(zip(weights, np.exp(row).tolist(), strict=True))
        offer.score = float(np.exp(row @ own / own.sum()))


def _draw_runs(
    offers: Sequence[Offer],
    samples: Samples,
    signs: Mapping[str, float],
    weights: Mapping[str, float],
) -> None:
    """Note how often each offer is first if its runs are redrawn, with replacement."""
    generator = np.random.default_rng(_SEED)
    total = np.zeros((DRAWS, len(offers)))
    for number, offer in enumerate(offers):
        for name, weight in weights.items():
            # A price is not drawn.
            series = samples.get((offer.label, name), [np.array([offer.medians[name]])])
            for values in series:
                drawn = generator.choice(values, (DRAWS, len(values)))
                logs = np.log(np.maximum(np.median(drawn, axis=1), 1e-300))
                total[:, number] += weight * signs[name] * logs / len(series)
    first = np.argmax(total, axis=1)
    for number, offer in enumerate(offers):
        offer.first_by_runs = float(np.mean(first == number))
