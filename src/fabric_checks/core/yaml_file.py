# SPDX-License-Identifier: BSD-3-Clause
"""Read untrusted YAML, with one kind of error for all faults, and with bounds on size and depth.

A few aliases of aliases stand for more values than fit in memory, and nested brackets exhaust the
interpreter's stack. So aliases are refused, and levels counted, before any value is constructed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import files

#: A larger file was not written by hand; a reference file has some hundred kilobytes.
LARGEST_B = 16 * 2**20
#: The deepest nesting.
DEEPEST = 50


class YamlError(ValueError):
    """A file that cannot be used; the text names file, line and cause."""

    def __init__(self, path: Path, cause: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {cause}")


#: The parser in C, where there is one, is ten times as fast.
_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_FAST):  # type: ignore[misc]  # mypy cannot know which
    """The loader of untrusted text; constructors can be added to a subclass."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; an impossible one, such as the date 2026-02-30, is an error with its
        line."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, OverflowError, AttributeError) as error:
            raise yaml.MarkedYAMLError(
                problem=str(error), problem_mark=node.start_mark
            ) from None


def load(path: Path, loader: type[Loader] = Loader) -> Any:
    """Return the content of a YAML file as plain data.

    :raises YamlError: if it cannot be read, is not YAML, or exceeds the bounds.
    """
    try:
        text = files.read_bytes(path, largest_B=LARGEST_B).decode()
    except OSError as error:
        raise YamlError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        cause = f"cannot be read: not UTF-8 text (byte {error.start + 1})"
        raise YamlError(path, cause) from None
    try:
        with contextlib.suppress(
            yaml.YAMLError
        ):  # the loader meets it on the same line, and describes it better
            _require_bounded(text, path)
        return yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        cause = " ".join(str(error.problem).split())[:200]
        raise YamlError(
            path, f"not valid YAML: {cause}", mark.line + 1 if mark else None
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlError(
            path, f"not valid YAML: {' '.join(str(error).split())[:200]}"
        ) from None


def lines(path: Path) -> dict[tuple[Any, ...], int]:
    """Return the line of every key and item of a valid file, by the keys and positions that lead to it."""
    found: dict[tuple[Any, ...], int] = {}

    def note(node: yaml.Node | None, before: tuple[Any, ...]) -> None:
        for key, place, value in _members(node):
            keys = (*before, key)
            found[keys] = place.start_mark.line + 1
            note(value, keys)

    note(yaml.compose(path.read_text(), Loader=yaml.SafeLoader), ())
    return found


def _members(node: yaml.Node | None) -> Iterator[tuple[Any, yaml.Node, yaml.Node]]:
    """Yield the key or position of each member of a node, where it stands, and the member."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (
                yaml.safe_load(key.value) if key.style is None else key.value,
                key,
                value,
            )
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield position, item, item


def _require_bounded(text: str, path: Path) -> None:
    """Raise :class:`YamlError` for an alias, or more than :data:`DEEPEST` levels."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=_FAST):
        line = event.start_mark.line + 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise YamlError(path, f"nested deeper than {DEEPEST} levels", line)
        if isinstance(event, yaml.AliasEvent):
            raise YamlError(
                path, f"the alias *{event.anchor}: write out what it stands for", line
            )
