# SPDX-License-Identifier: BSD-3-Clause
"""Read YAML in which every value has a source.

A value is written with its source, ``{value: 949, published: SAND Table 4}``, or bare in a section that has
one for all: ``source: {fitted: SAND Tables 2 to 5}``, which its subsections inherit. A source is one of

- ``published``: the document, and the table or section of it that has the value,
- ``fitted``: the published values that this one was chosen to reproduce,
- ``assumed``: the reason, where it is neither published nor follows from published values.

Units stand in the names of keys: ``rate_MBps`` (10^6 bytes/s), ``latency_us``, ``eager_below_B``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fabric_checks.core import schema, yaml_file
from fabric_twins.errors import TwinError

T = TypeVar("T")

#: The kinds of sources, from the strongest to the weakest.
KINDS = ("published", "fitted", "assumed")

#: Units by the endings of keys, as the checks write them.
UNITS: Mapping[str, str] = {
    "us": "us",
    "MBps": "MB/s",
    "B": "B",
    "percent": "%",
    "Mps": "Mmsg/s",
}

#: Parts of a description that are no values of the cluster, or name their sources in another way.
_WITHOUT_SOURCES = {"faults", "values", "statements", "seed"}


@dataclass(frozen=True)
class Source:
    """The source of a value.

    :param kind: one of :data:`KINDS`.
    :param text: the document and its table, the value it was fitted to, or why it was assumed.
    """

    kind: str
    text: str


class _Loader(yaml_file.Loader):
    """Refuse a duplicate key, of which YAML would keep the last."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(
                problem="a key is a list or a mapping", problem_mark=key.start_mark
            )
        if key.value in seen:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key.value!r} is there twice",
                problem_mark=key.start_mark,
            )
        seen.add(key.value)
    found: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def content(file: Path) -> Any:
    """Return what a YAML file has, as plain data.

    :raises TwinError: if it cannot be read or is no YAML.
    """
    try:
        return yaml_file.load(file, _Loader)
    except yaml_file.YamlError as error:
        raise TwinError(str(error)) from None


def convert(
    data: Any,
    kind: type[T],
    place: object,
    lines: Callable[[], Mapping[tuple[Any, ...], int]] = dict,
) -> T:
    """Return plain data as an instance of a type, as :func:`fabric_checks.core.schema.convert` does.

    :raises TwinError: with place, cause and remedy in one line.
    """
    try:
        return schema.convert(data, kind, place, lines)
    except schema.SchemaError as error:
        raise TwinError(str(error)) from None


@dataclass
class Sources:
    """The sources of a description, by full key such as ``inter_node.rate_MBps``, and the values that have
    none."""

    file: Path
    known: dict[str, Source] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def taken(
        self, data: Any, keys: tuple[str, ...] = (), inherited: Source | None = None
    ) -> Any:
        """Return data without its sources, which are kept here.

        :raises TwinError: for a source that is none.
        """
        name = ".".join(keys)
        # A table by message size is one value.
        if not isinstance(data, dict) or all(isinstance(key, int) for key in data):
            self._note(name, data, inherited)
            return data
        if "value" in data:
            of = {key: each for key, each in data.items() if key != "value"}
            self.known[name] = self._source(name, of)
            return data["value"]
        if "source" in data:
            inherited = self._source(f"{name}.source".strip("."), data["source"])
        return self._inner(data, keys, inherited)

    def _inner(
        self, data: dict[Any, Any], keys: tuple[str, ...], inherited: Source | None
    ) -> dict[Any, Any]:
        found = {key: each for key, each in data.items() if key != "source"}
        for key, each in found.items():
            if key not in _WITHOUT_SOURCES:
                found[key] = self.taken(each, (*keys, str(key)), inherited)
        return found

    def _note(self, name: str, value: Any, source: Source | None) -> None:
        """Keep the source of a number or a table; a word needs none."""
        if isinstance(value, bool) or not isinstance(value, int | float | dict):
            return
        if source is None:
            self.missing.append(name)
        else:
            self.known[name] = source

    def _source(self, name: str, data: Any) -> Source:
        if isinstance(data, dict) and len(data) == 1:
            ((kind, text),) = data.items()
            if kind in KINDS and isinstance(text, str) and text.strip():
                return Source(kind, " ".join(text.split()))
        raise TwinError(
            f"{self.file}: {name}: no source; write one of published, fitted and assumed, with a text"
        )

    def require_all(self) -> None:
        """Raise :class:`TwinError` for a value that has no source."""
        if self.missing:
            raise TwinError(
                f"{self.file}: {self.missing[0]}: does not say where it comes from; write {{value: ...,"
                " published: ...}, or fitted or assumed"
            )


def sources_by_kind(sources: Mapping[str, Source]) -> dict[str, list[str]]:
    """Return the names of the values of each kind of source."""
    return {
        kind: [name for name, source in sources.items() if source.kind == kind]
        for kind in KINDS
    }
