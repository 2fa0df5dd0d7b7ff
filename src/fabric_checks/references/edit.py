# SPDX-License-Identifier: BSD-3-Clause
"""Put references into the text of a reference file and leave every other byte of it alone.

Libraries that read YAML and write it again move or lose comments where values change (ruamel.yaml 0.19 keeps a comment
that stands between two keys with the value above it). So the text is changed only where the YAML parser says that a
value stands or a mapping ends; and what comes out is read again and compared with what it should be.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.text import printable

#: The top-level keys that are no checks; a new check goes before them.
OURS = ("evidence", "derived", "no_reference")
#: What a comment of ours begins with; the next proposal replaces it.
_MARK = re.compile(r"(?:;\s*)?from \d+ runs .*$")
_ENDLESS = 10**9


@dataclass(frozen=True)
class Setting:
    """A reference to set.

    :param keys: from the check down to the metric; :param index: the ``$index`` of an entry that is new.
    :param reference: value, lower, upper and unit; :param comment: what to say beside it.
    """

    keys: tuple[Any, ...]
    index: tuple[str, ...]
    reference: tuple[Any, ...]
    comment: str


@dataclass(frozen=True)
class _Splice:
    """A piece of text in place of another; of two at one place the one with the larger depth goes first."""

    start: int
    end: int
    text: str
    depth: int = 0


def edited(text: str, changes: Sequence[Setting], path: object = "the file") -> str:
    """Return the text of a file with changes.

    :param path: for messages.
    :raises ReferenceError: if that cannot be done without touching anything else, as below an alias.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    wanted = yaml.safe_load(text) or {}
    splices: list[_Splice] = []
    new: dict[int, tuple[yaml.MappingNode, dict[Any, Any]]] = {}
    top: dict[Any, Any] = {}
    for change in changes:
        _set(wanted, change)
        if not isinstance(root, yaml.MappingNode):
            _set(top, change)
            continue
        node, depth = _deepest(root, change.keys)
        if depth == len(change.keys):
            splices += _replaced(text, node, change)
        elif depth == 0 or not isinstance(node, yaml.MappingNode):
            _set(top, change)
        else:
            _nest(new.setdefault(id(node), (node, {}))[1], change.keys[depth:], change)
    for mapping, tree in new.values():
        splices.append(_inserted(text, mapping, tree))
    if top:
        splices.append(_at_the_top(text, root, top))
    out = _spliced(text, splices)
    if _loaded(out) != wanted:
        raise ReferenceError(
            f"{path}: cannot be changed in place, because keys are repeated, merged or shared by aliases, for example; "
            "write those entries out first"
        )
    return out


def _spliced(text: str, splices: Sequence[_Splice]) -> str:
    parts, end = [], 0
    for splice in sorted(splices, key=lambda each: (each.start, -each.depth)):
        parts += [text[end : splice.start], splice.text]
        end = splice.end
    return "".join([*parts, text[end:]])


def _loaded(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _set(content: dict[Any, Any], change: Setting) -> None:
    """Set the reference in the data; a new check gets its index first."""
    check, *keys, metric = change.keys
    # A copy of each level on the way: aliases share them.
    level = content[check] = copy.copy(content.get(check)) or {"$index": list(change.index)}
    for key in keys:
        level[key] = copy.copy(level.get(key)) or {}
        level = level[key]
    level[metric] = _Leaf(change.reference, change.comment)


class _Leaf(list[Any]):
    """A reference with its comment; equal to a list of the same."""

    def __init__(self, reference: Sequence[Any], comment: str) -> None:
        super().__init__(reference)
        self.comment = comment


def _nest(tree: dict[Any, Any], keys: Sequence[Any], change: Setting) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
    tree[keys[-1]] = _Leaf(change.reference, change.comment)


def _deepest(root: yaml.MappingNode, keys: Sequence[Any]) -> tuple[yaml.Node, int]:
    """Return the last node on the way down the keys that is there, and how many keys lead to it."""
    node: yaml.Node = root
    for depth, key in enumerate(keys):
        below = next((value for name, value in node.value if _value(name) == key), None)
        if below is None:
            return node, depth
        if depth + 1 < len(keys) and not isinstance(below, yaml.MappingNode):
            return node, depth
        node = below
    return node, len(keys)


def _value(node: yaml.Node) -> Any:
    """Return what the text of a scalar stands for."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    if node.tag == "tag:yaml.org,2002:str":
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except yaml.YAMLError:
        return None  # as of the key of a merge


def _replaced(text: str, node: yaml.Node, change: Setting) -> list[_Splice]:
    start, end = node.start_mark.index, node.end_mark.index
    out = [_Splice(start, end, scalar(list(change.reference)))]
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    rest = text[end:line_end]
    if re.fullmatch(r"\s*(#.*)?", rest):
        kept = _MARK.sub("", rest.strip().removeprefix("#")).strip()
        comment = f"{kept}; {change.comment}" if kept else change.comment
        out.append(_Splice(end, line_end, f"  # {_one_line(comment)}", _ENDLESS))
    return out


def _inserted(text: str, node: yaml.MappingNode, tree: Mapping[Any, Any]) -> _Splice:
    """Return what puts new keys at the end of a mapping."""
    if node.flow_style:
        items = ", ".join(f"{scalar(key)}: {scalar(_plain(value))}" for key, value in tree.items())
        at = node.value[-1][1].end_mark.index if node.value else node.start_mark.index + 1
        return _Splice(at, at, f", {items}" if node.value else items)
    at = _end_of(text, node)
    column = node.value[0][0].start_mark.column
    return _Splice(at, at, _line_first(text, at) + _block(tree, column), column)


def _end_of(text: str, node: yaml.Node) -> int:
    """Return the start of the line after the last value of a node."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = node.end_mark.index
    if end and text[end - 1] == "\n":
        return end
    line_end = text.find("\n", end)
    return len(text) if line_end < 0 else line_end + 1


def _at_the_top(text: str, root: yaml.Node | None, tree: Mapping[Any, Any]) -> _Splice:
    """Return what puts new checks after the last one, or before what is not a check."""
    block = _block(tree, 0)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    checks = [value for key, value in pairs if _value(key) not in OURS]
    if checks:
        at = _end_of(text, checks[-1])
    elif pairs:
        at = _above_comments(text, pairs[0][0].start_mark.index)
    else:
        at = len(text)
    return _Splice(at, at, _line_first(text, at) + block)


def _line_first(text: str, at: int) -> str:
    """Return the line end that is missing before a place, if one is."""
    return "" if not at or text[at - 1] == "\n" else "\n"


def _above_comments(text: str, at: int) -> int:
    """Return where the comment right above a key begins; the head of the file is no comment of its first key."""
    start = at
    while start:
        line = text.rfind("\n", 0, start - 1) + 1
        if not text[line:start].startswith("#"):
            return start
        start = line
    return at


def _block(tree: Mapping[Any, Any], column: int) -> str:
    out = ""
    for key, value in tree.items():
        head = f"{' ' * column}{scalar(key)}:"
        if isinstance(value, _Leaf):
            out += f"{head} {scalar(list(value))}  # {_one_line(value.comment)}\n"
        elif isinstance(value, dict):
            out += f"{head}\n{_block(value, column + 2)}"
        else:
            out += f"{head} {scalar(value)}\n"
    return out


def _plain(value: Any) -> Any:
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else list(value)


def scalar(value: Any) -> str:
    """Return a value as YAML on one line."""
    style = '"' if isinstance(value, str) and "\n" in value else None
    text: str = yaml.safe_dump(value, default_style=style, default_flow_style=True, width=_ENDLESS, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
