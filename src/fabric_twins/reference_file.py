# SPDX-License-Identifier: BSD-3-Clause
"""The file of references of a twin, from the values of its description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import Layout
from fabric_checks.core.paths import ROOT
from fabric_twins.model import sharing
from fabric_twins.model.description import FITTED, PublishedValue, Saying, Twin
from fabric_twins.model.places import Place, place_of

#: The items of ``$index`` by check: its parameters, the layout last.
_INDEX: Mapping[str, tuple[str, ...]] = {
    "Rotate": ("pattern", "layout"),
    "StreamingQueue": ("queue_depth", "layout"),
    "Overlap": ("poll", "layout"),
    "Notification": ("wait", "layout"),
}

_HEAD = """\
# References of the twin `{name}`: what the documents report of the cluster that it stands for. Written by
# `fabric-checks twin references` from config/twins/{name}.yaml.
"""


def path(twin: Twin) -> Path:
    """Return where the file belongs."""
    return ROOT / "config" / "references" / f"{twin.name}.yaml"


def text(twin: Twin) -> str:
    """Return the whole file.

    :raises TwinError: if no check measures one of the values.
    """
    checks: dict[str, Any] = {}
    evidence: dict[tuple[str, str, str, str], list[str]] = {}
    for benchmark, values in twin.values.items():
        for name, published in values.items():
            place = place_of(twin, benchmark, name)
            if place.metric in sharing.NAMES:
                continue  # no check knows which pairs share a cable: `twin table` has these values
            where = {**place.parameters, "layout": str(place.layout)}
            _add(checks, place.check, where, place.metric, _reference(published, place.unit))
            key = (place.check, where["layout"], published.twin, published.source.text)
            evidence.setdefault(key, []).append(place.metric)
    for ratio in _ratios(twin):
        where = {**ratio.parameters, "layout": str(ratio.layout)}
        _add(checks, ratio.check, where, ratio.metric, _List([ratio.value, -ratio.share, ratio.share, "1"]))
        evidence.setdefault((ratio.check, where["layout"], ratio.kind, ratio.source), []).append(ratio.metric)
    for saying in twin.said:
        where = {**saying.parameters, "layout": saying.layout}
        _add(checks, saying.check, where, saying.metric, _bound(saying))
        source = f"{saying.source.text}, which says: {saying.text}"
        kind = FITTED if saying.is_fitted else "said"
        evidence.setdefault((saying.check, saying.layout, kind, source), []).append(saying.metric)
    content = {
        **checks,
        "evidence": [
            *(
                _Mapping(check=check, layout=layout, metric="|".join(metrics), evidence=kind, source=source)
                for (check, layout, kind, source), metrics in evidence.items()
            ),
            _Mapping(evidence="simulated"),
        ],
        "no_reference": [{"why": f"no document reports this value of {twin.name}: it is recorded, not judged"}],
    }
    return _HEAD.format(name=twin.name) + "\n" + yaml.dump(content, sort_keys=False, width=120, Dumper=_Dumper)


@dataclass(frozen=True)
class _Ratio:
    """What a check of several processes a node against one is held to: a published value over another."""

    check: str
    parameters: Mapping[str, str]
    layout: Layout
    metric: str
    value: float
    share: float
    kind: str
    source: str


def _ratios(twin: Twin) -> Iterator[_Ratio]:
    """Yield the ratio of every two values of one metric that a check of both layouts compares."""
    found: dict[tuple[str, str, str], dict[Layout, tuple[Place, PublishedValue]]] = {}
    for benchmark, values in twin.values.items():
        for name, published in values.items():
            place = place_of(twin, benchmark, name)
            key = (place.check, str(place.parameters), place.metric)
            found.setdefault(key, {})[place.layout] = (place, published)
    for by_layout in found.values():
        for layout, one in ppn_ratio.counterparts(list(by_layout), list(by_layout)).items():
            (place, more), (_, first) = by_layout[layout], by_layout[one]
            yield _Ratio(
                place.check + ppn_ratio.SUFFIX,
                place.parameters,
                layout,
                f"{place.metric}_ratio",
                float(f"{more.value / first.value:.4g}"),
                # Each may be off by its own tolerance.
                round((more.tolerance_percent + first.tolerance_percent) / 100, 6),
                "fitted" if more.twin == first.twin == "fitted" else "predicted",
                f"{more.source.text} over {first.source.text}",
            )


class _List(list[Any]):
    """A list that stands on one line."""


class _Mapping(dict[str, str]):
    """A mapping that stands on one line, or wrapped."""


class _Dumper(yaml.SafeDumper):
    """Repeats what is repeated."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(_Mapping, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, True))
_Dumper.add_representer(_List, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, True))


def _add(checks: dict[str, Any], check: str, where: Mapping[str, str], metric: str, reference: _List) -> None:
    index = _INDEX.get(check, ("layout",))
    level = checks.setdefault(check, {"$index": _List(index)})
    for attribute in index:
        level = level.setdefault(where[attribute], {})
    level[metric] = reference


def _reference(published: PublishedValue, unit: str) -> _List:
    share = published.tolerance_percent / 100
    return _or_xfail([published.value, -share, share, unit], published.why_not)


def _bound(saying: Saying) -> _List:
    lower, upper = (0, None) if saying.bound == "at_least" else (None, 0)
    return _or_xfail([saying.value, lower, upper, saying.unit], saying.why_not)


def _or_xfail(reference: list[Any], why_not: str) -> _List:
    """What the twin is known not to reproduce has to fail, or the reason is out of date."""
    return _List(["$xfail", why_not, _List(reference)] if why_not else reference)
