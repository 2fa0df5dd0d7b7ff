# SPDX-License-Identifier: BSD-3-Clause
"""Read YAML in which every value has a source.

A value is written with its source, ``{value: 949, published: SAND Table 4}``, or bare in a section that has one for
all: ``source: {fitted: SAND Tables 2 to 5}``, which its subsections inherit. A source is one of

- ``published``: the document, and the table or section of it that has the value,
- ``fitted``: the published values that this one was chosen to reproduce,
- ``assumed``: the reason, where it is neither published nor follows from published values.

Units stand in the names of keys: ``rate_MBps`` (10^6 bytes/s), ``latency_us``, ``eager_below_B``.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import quoted
from fabric_checks.core.layouts import Layout
from fabric_twins.errors import TwinError

#: The kinds of sources, from the strongest to the weakest.
KINDS = ("published", "fitted", "assumed")

#: Units by the endings of keys, as the checks write them.
UNITS: Mapping[str, str] = {"us": "us", "MBps": "MB/s", "B": "B", "percent": "%", "Mps": "Mmsg/s"}
_UNIT = re.compile(rf"_({'|'.join(UNITS)})$")

#: A default that stands for: the key has to be there.
_REQUIRED: Any = object()
_D = TypeVar("_D")


@dataclass(frozen=True)
class Source:
    """The source of a value.

    :param kind: one of :data:`KINDS`.
    :param text: the document and its table, the value it was fitted to, or why it was assumed.
    """

    kind: str
    text: str


#: Value by message size in bytes: linear between the points, level outside.
Table = tuple[tuple[int, float], ...]


class _Loader(yaml_file.Loader):
    """Refuse a duplicate key, of which YAML would keep the last."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a key is a list or a mapping", problem_mark=key.start_mark)
        if key.value in seen:
            raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark)
        seen.add(key.value)
    found: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class Section:
    """One mapping of the file, whose keys are taken one by one; a key that was not taken is unknown.

    Where a method has a ``default``, that is returned if the key is not there; without one the key has to be there.
    """

    def __init__(
        self, file: Path, path: str, content: object, inherited: Source | None, sources: dict[str, Source]
    ) -> None:
        self.file, self.path, self.sources = file, path, sources
        if not isinstance(content, dict):
            raise self.error("", f"a mapping is expected here, not {quoted(repr(content))}")
        self._rest: dict[Any, Any] = dict(content)
        self._known: list[str] = ["source"]
        given = self._rest.pop("source", None)
        self.source = inherited if given is None else self._read_source("source", given)

    def location(self, key: str = "") -> str:
        """Return file and full key for a message."""
        return f"{self.file}: {self.key(key)}" if self.key(key) else str(self.file)

    def error(self, key: str, text: str) -> TwinError:
        """Return the error of a key; the text says what is wrong with it, and the remedy."""
        return TwinError(f"{self.location(key)}: {text}")

    def key(self, key: str = "") -> str:
        """Return the full name of a key: ``inter_node.rate_MBps``."""
        return ".".join(part for part in (self.path, key) if part)

    def __iter__(self) -> Iterator[str]:
        """Go through the keys that were not taken yet, each of which can be taken."""
        return iter(list(map(str, self._rest)))

    def take(self, key: str, remedy: str) -> Any:
        """Return what stands at a key, which has to be there; the remedy says what to write."""
        self._known.append(key)
        if key not in self._rest:
            self._require_unit(key)
            raise self.error(key, f"is missing; write {remedy}")
        return self._rest.pop(key)

    def optional(self, key: str) -> bool:
        """Return whether an optional key is there."""
        self._known.append(key)
        self._require_unit(key)
        return key in self._rest

    def section(self, key: str) -> Section:
        """Return a subsection that has to be there."""
        content = self.take(key, "a mapping")
        return Section(self.file, self.key(key), content, self.source, self.sources)

    def items(self, key: str, default: Iterable[Section] = _REQUIRED) -> Iterable[Section]:
        """Return the mappings of a list."""
        if self._is_left_out(key, default):
            return default
        content = self.take(key, "a list of mappings")
        if not isinstance(content, list):
            raise self.error(key, f"a list is expected here, not {quoted(repr(content))}")
        return [
            Section(self.file, f"{self.key(key)}[{number}]", item, self.source, self.sources)
            for number, item in enumerate(content)
        ]

    def texts(self, key: str) -> dict[str, str]:
        """Return a mapping of names to texts; an empty one if the key is not there."""
        if not self.optional(key):
            return {}
        section = self.section(key)
        return {name: section.text(name) for name in section}

    def plain_number(self, key: str) -> float:
        """Return a number from zero on that needs no source, because it is no value of the cluster."""
        return self._number(key, self.take(key, "a number"), 0.0, above=False)

    def number(self, key: str, *, least: float = 0.0, above: bool = True, default: _D = _REQUIRED) -> float | _D:
        """Return a number.

        :param least: it has to be above this; at least this if not ``above``.
        """
        if self._is_left_out(key, default):
            return default
        return self._number(key, self._sourced(key, "a number with its unit in the name of the key"), least, above)

    def count(self, key: str, least: int = 1, *, default: _D = _REQUIRED) -> int | _D:
        """Return a whole number."""
        if self._is_left_out(key, default):
            return default
        value = self.number(key, least=least, above=False)
        if value != int(value):
            raise self.error(key, f"{value:g} is not a whole number; write one")
        return int(value)

    def layout(self, key: str) -> Layout:
        """Return a layout, such as ``2x1``."""
        try:
            return Layout.of(self.text(key))
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def table(self, key: str) -> Table:
        """Return a table by message size in bytes, linear between its points; a bare number is one for all sizes."""
        value = self._sourced(key, "a number, or a table such as {0: 0.4, 65536: 2.1} by size in bytes")
        if not isinstance(value, dict):
            return ((0, self._number(key, value, 0.0, above=False)),)
        if not value:
            raise self.error(key, "the table is empty; write {0: ...}")
        for size in value:
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise self.error(key, f"{quoted(str(size))} is not a message size; write whole bytes")
        points = [(size, self._number(f"{key}.{size}", each, 0.0, above=False)) for size, each in value.items()]
        if points != sorted(points):
            raise self.error(key, "the sizes do not increase; write them in order")
        return tuple(points)

    def choice(self, key: str, choices: tuple[str, ...], *, default: str = _REQUIRED) -> str:
        """Return one of the words, which may have a source and need none."""
        if self._is_left_out(key, default):
            return default
        remedy = f"one of {', '.join(choices)}"
        value = self._unwrapped(key, self.take(key, remedy))
        if value not in choices:
            raise self.error(key, f"{quoted(str(value))} is unknown; write {remedy}")
        return str(value)

    def text(self, key: str, *, default: str = _REQUIRED) -> str:
        """Return a text of one line."""
        if self._is_left_out(key, default):
            return default
        value = self.take(key, "a text")
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f"{quoted(repr(value))} is not text; write text")
        return " ".join(value.split())

    def finish(self) -> None:
        """Raise :class:`TwinError` if there is a key that was not taken."""
        for key in self._rest:
            near = difflib.get_close_matches(str(key), self._known, 1, 0.5)
            remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(sorted(self._known))}"
            raise self.error(str(key), f"unknown key; {remedy}")

    def _is_left_out(self, key: str, default: object) -> bool:
        """Return whether a key that has a default is not there."""
        return default is not _REQUIRED and not self.optional(key)

    def _require_unit(self, key: str) -> None:
        """Say of a key without its unit that it is that, and not that another one is missing."""
        bare = _UNIT.sub("", key)
        if bare != key and key not in self._rest and bare in self._rest:
            raise self.error(bare, f"has no unit; write {key}")

    def _sourced(self, key: str, remedy: str) -> Any:
        """Take a value and book its source, which it must have."""
        value = self._unwrapped(key, self.take(key, remedy))
        if self.key(key) not in self.sources:
            if self.source is None:
                raise self.error(
                    key, "does not say where it comes from; write {value: ..., published: ...}, or fitted or assumed"
                )
            self.sources[self.key(key)] = self.source
        return value

    def _unwrapped(self, key: str, content: object) -> Any:
        """Return a value without its source, which is booked if it has one."""
        if not isinstance(content, dict) or "value" not in content:
            return content
        rest = {name: each for name, each in content.items() if name != "value"}
        self.sources[self.key(key)] = self._read_source(key, rest)
        return content["value"]

    def _read_source(self, key: str, content: object) -> Source:
        if isinstance(content, dict) and len(content) == 1:
            ((kind, text),) = content.items()
            if kind in KINDS and isinstance(text, str) and text.strip():
                return Source(kind, " ".join(text.split()))
        raise self.error(key, "no source; write one of published, fitted and assumed, with a text")

    def _number(self, key: str, value: object, least: float, above: bool) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise self.error(key, f"{quoted(str(value))} is not a number; write one, without a unit")
        if value < least or (above and value == least):
            bound = f"above {least:g}" if above else f"at least {least:g}"
            raise self.error(key, f"{value:g} is too small; write a number {bound}")
        return float(value)


def read(file: Path) -> Section:
    """Return the top level of a file.

    :raises TwinError: if it cannot be read or is no YAML.
    """
    return top_level(file, content(file))


def top_level(file: Path, content: object) -> Section:
    """Return the content of a file as a section."""
    return Section(file, "", content, None, {})


def content(file: Path) -> Any:
    """Return what a YAML file has, as plain data.

    :raises TwinError: if it cannot be read or is no YAML.
    """
    try:
        return yaml_file.load(file, _Loader)
    except yaml_file.YamlError as error:
        raise TwinError(str(error)) from None


def sources_by_kind(sources: Mapping[str, Source]) -> dict[str, list[str]]:
    """Return the names of the values of each kind of source."""
    return {kind: [name for name, source in sources.items() if source.kind == kind] for kind in KINDS}
