# SPDX-License-Identifier: BSD-3-Clause
"""Write the reference file of a twin from the values of its description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import Layout
from fabric_checks.core.paths import ROOT
from fabric_twins.errors import TwinError
from fabric_twins.measured import PAIRS_ON_A_LINK
from fabric_twins.model.description import FITTED, Case, PublishedValue, Statement, Twin

_HEAD = """\
# References of the twin `{name}`: what the documents report of the cluster that it stands for. Written by
# `fabric-checks twin references` from config/twins/{name}.yaml.
"""


def path(twin: Twin) -> Path:
    """Return the path of the file."""
    return ROOT / f"config/references/{twin.name}.yaml"


@dataclass(frozen=True)
class _Entry:
    """A reference with its evidence.

    :param kind: of the evidence; :param source: the document, and the table or section in it.
    """

    check: str
    parameters: Mapping[str, str]
    layout: str
    metric: str
    reference: _List
    kind: str
    source: str


def text(twin: Twin) -> str:
    """Return the whole file.

    :raises TwinError: if two cases of a check have different parameters.
    """
    checks: dict[str, Any] = {}
    evidence: dict[tuple[str, str, str, str], list[str]] = {}
    for entry in (*_values(twin), *_ratios(twin), *map(_statement, twin.statements)):
        index = [*entry.parameters, "layout"]
        level = checks.setdefault(entry.check, {"$index": _List(index)})
        if level["$index"] != index:
            raise TwinError(
                f"{twin.file}: cases of {entry.check} differ in the names of their parameters; write the same"
            )
        for value in (*entry.parameters.values(), entry.layout):
            level = level.setdefault(value, {})
        level[entry.metric] = entry.reference
        evidence.setdefault(
            (entry.check, entry.layout, entry.kind, entry.source), []
        ).append(entry.metric)
    content = {
        **checks,
        "evidence": [
            *(
                _Mapping(
                    check=check,
                    layout=layout,
                    metric="|".join(metrics),
                    evidence=kind,
                    source=source,
                )
                for (check, layout, kind, source), metrics in evidence.items()
            ),
            _Mapping(evidence="simulated"),
        ],
        "no_reference": [
            {
                "why": f"no document reports this value of {twin.name}: it is recorded, not judged"
            }
        ],
    }
    return (
        _HEAD.format(name=twin.name)
        + "\n"
        + yaml.dump(content, sort_keys=False, width=120, Dumper=_Dumper)
    )


def _values(twin: Twin) -> Iterator[_Entry]:
    for case in twin.cases:
        for each in case.values:
            if (
                each.metric not in PAIRS_ON_A_LINK.values()
            ):  # only `twin table` has those
                share = each.tolerance_percent / 100
                reference = _or_xfail(
                    [each.value, -share, share, each.unit], each.why_not
                )
                yield _Entry(
                    case.check,
                    case.parameters,
                    str(case.layout),
                    each.metric,
                    reference,
                    each.twin,
                    each.source.text,
                )


def _ratios(twin: Twin) -> Iterator[_Entry]:
    """Yield the ratio of every two values of one metric that a check of both layouts compares."""
    found: dict[tuple[str, str, str], dict[Layout, tuple[Case, PublishedValue]]] = {}
    for case in twin.cases:
        for each in case.values:
            found.setdefault((case.check, str(case.parameters), each.metric), {})[
                case.layout
            ] = (case, each)
    for by_layout in found.values():
        for layout, one in ppn_ratio.counterparts(
            list(by_layout), list(by_layout)
        ).items():
            (case, more), (_, first) = by_layout[layout], by_layout[one]
            # Each may be off by its own tolerance.
            share = round((more.tolerance_percent + first.tolerance_percent) / 100, 6)
            yield _Entry(
                case.check + ppn_ratio.SUFFIX,
                case.parameters,
                str(layout),
                f"{more.metric}_ratio",
                _List([float(f"{more.value / first.value:.4g}"), -share, share, "1"]),
                "fitted" if more.twin == first.twin == "fitted" else "predicted",
                f"{more.source.text} over {first.source.text}",
            )


def _statement(statement: Statement) -> _Entry:
    lower, upper = (0, None) if statement.bound == "at_least" else (None, 0)
    return _Entry(
        statement.check,
        statement.parameters,
        statement.layout,
        statement.metric,
        _or_xfail([statement.value, lower, upper, statement.unit], statement.why_not),
        FITTED if statement.is_fitted else "said",
        f"{statement.source.text}, which says: {statement.text}",
    )


class _List(list[Any]):
    """A list that stands on one line."""


class _Mapping(dict[str, str]):
    """A mapping that stands on one line, or wrapped."""


class _Dumper(yaml.SafeDumper):
    """Write equal values in full, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    _Mapping,
    lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, True),
)
_Dumper.add_representer(
    _List,
    lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, True),
)


def _or_xfail(reference: list[Any], why_not: str) -> _List:
    """Return a reference that is expected to fail where the twin is known not to reproduce the value."""
    return _List(["$xfail", why_not, _List(reference)] if why_not else reference)
