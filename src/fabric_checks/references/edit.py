# SPDX-License-Identifier: BSD-3-Clause
"""Write references into a reference file, preserving its comments and quotes."""

from __future__ import annotations

import copy
import difflib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken

from fabric_checks.core import files
from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.text import one_line
from fabric_checks.references import reference_file, wording
from fabric_checks.references.propose import Proposal
from fabric_checks.references.reference_file import ReferenceFile

#: The start of a comment of ours; the next proposal replaces it.
_MARK = re.compile(r"(?:;\s*)?from \d+ (?:runs?|pass(?:es)?) .*$")


@dataclass(frozen=True)
class Setting:
    """Hold a reference to set.

    :param keys: from the check down to the metric.
    :param index: the ``$index`` of an entry that is new.
    :param reference: value, lower, upper and unit.
    :param comment: written at the end of its line.
    """

    keys: tuple[Any, ...]
    index: tuple[str, ...]
    reference: tuple[Any, ...]
    comment: str


@dataclass(frozen=True)
class Applied:
    """Hold the outcome of proposals.

    :param difference: the patch; empty if nothing changes.
    :param written: whether the file was changed.
    :param held_back: whether looser references were left out.
    """

    difference: str
    written: bool
    held_back: bool


def load_or_new(path: Path) -> ReferenceFile:
    """Read a reference file; a missing one has no entries.

    :raises ReferenceError: if it is not of the form of :mod:`fabric_checks.references.reference_file`.
    """
    return reference_file.load(path) if path.exists() else ReferenceFile(path, {}, ())


def apply(path: Path, proposals: Sequence[Proposal], *, write: bool, allow_looser: bool, name: str) -> Applied:
    """Change a file, or return the change.

    :param write: whether to write it; then looser references are left out, unless they are allowed.
    :param name: the file's name in the patch.
    :raises ReferenceError: if the file cannot be changed in place, or would not load afterwards.
    """
    before = path.read_text() if path.exists() else ""
    wanted = [each for each in proposals if each.reference is not None]
    held_back = write and not allow_looser and any(each.action == "loosened" for each in wanted)
    if held_back:
        wanted = [each for each in wanted if each.action != "loosened"]
    after = before
    if wanted:
        text = before or f"# References of the system `{path.stem}`.\n\n"
        after = edited(text, [_setting(each) for each in wanted], path)
    patch = difflib.unified_diff(
        before.splitlines(True), after.splitlines(True), f"a/{name}" if before else "/dev/null", f"b/{name}"
    )
    difference = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in patch)
    written = write and after != before
    if written:
        _write(path, after)
    return Applied(difference, written, held_back)


def _setting(proposal: Proposal) -> Setting:
    slot, reference = proposal.slot, proposal.reference
    if slot is None or reference is None:
        raise ValueError(f"{proposal.name}: nothing is proposed")
    return Setting((slot.check, *slot.keys, slot.metric), slot.index, reference, wording.comment(proposal))


def _write(path: Path, text: str) -> None:
    """Replace a file, if the new one loads."""
    try:
        with files.replacing(path) as new:
            new.write_text(text)
            try:
                reference_file.load(new)
            except ReferenceError as error:
                raise ReferenceError(f"{path}: was left as it is, because the result would not load: {error}") from None
    finally:
        reference_file.load.cache_clear()


def edited(text: str, changes: Sequence[Setting], path: object = "the file") -> str:
    """Return the text of a file with changes; other values and all comments are preserved.

    :param path: for messages.
    :raises ReferenceError: if anything else would change, as below an alias.
    """
    wanted = yaml.safe_load(text) or {}
    engine = _engine()
    try:
        content = engine.load(text)
        is_new = content is None  # nothing but comments, which are not in the content then
        content = CommentedMap() if is_new else content
        for change in changes:
            _set_plain(wanted, change)
            _set(content, change)
        out = io.StringIO(f"{text.rstrip()}\n\n" if is_new and text.strip() else "")
        out.seek(0, io.SEEK_END)
        engine.dump(content, out)
        if yaml.safe_load(out.getvalue()) == wanted:
            return out.getvalue()
    except (YAMLError, yaml.YAMLError, TypeError, AttributeError):
        pass  # as of repeated keys, or keys below a value
    raise ReferenceError(
        f"{path}: cannot be changed in place, because keys are repeated, merged or shared by aliases, for example; "
        "write those entries out first"
    )


def _engine() -> YAML:
    """Return a reader and writer that keeps comments, quotes and long lines."""
    engine = YAML()
    engine.preserve_quotes = True
    engine.width = 10**9
    engine.indent(mapping=2, sequence=2, offset=0)
    engine.representer.add_representer(
        type(None), lambda writer, _: writer.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return engine


def _set_plain(content: dict[Any, Any], change: Setting) -> None:
    """Set a reference in plain data, with a copy of each level on the way: aliases share them."""
    check, *keys, metric = change.keys
    level = content[check] = copy.copy(content.get(check)) or {"$index": list(change.index)}
    for key in keys:
        level[key] = copy.copy(level.get(key)) or {}
        level = level[key]
    level[metric] = list(change.reference)


def _set(content: CommentedMap, change: Setting) -> None:
    """Set a reference in the content of a file, with its comment."""
    *keys, metric = change.keys
    level, below = content, ""
    for key in keys:
        if level.get(key) is None:
            # Comments at the end of the file stay above a new check, which is the last entry then.
            below = below or ("" if level is content else _take_comments_below(level))
            new = CommentedMap()
            if level is content:
                new["$index"] = _flow(change.index)
            level[_key(key)] = new
        level = level[key]
    if metric in level:
        level[metric][:] = change.reference  # in place: comments are kept with the list
    else:
        below = below or _take_comments_below(level)
        level[_key(metric)] = _flow(change.reference)
    if not level.fa.flow_style():
        _comment(level, metric, change.comment, below)


def _flow(values: Sequence[Any]) -> CommentedSeq:
    found = CommentedSeq(values)
    found.fa.set_flow_style()
    return found


def _key(key: Any) -> Any:
    """Return a new key, in quotes if YAML 1.1, which ReFrame reads, has another value for the plain text."""
    try:
        is_plain = not isinstance(key, str) or yaml.safe_load(key) == key
    except yaml.YAMLError:
        is_plain = False
    return key if is_plain else DoubleQuotedScalarString(key)


def _take_comments_below(level: CommentedMap) -> str:
    """Remove and return the comments below the last value of a mapping: a new key goes above them."""
    if not level:
        return ""
    last_key = list(level)[-1]
    last = level[last_key]
    if isinstance(last, CommentedMap) and last and not last.fa.flow_style():
        return _take_comments_below(last)
    token = (level.ca.items.get(last_key) or [None] * 3)[2]
    if token is None:
        return ""
    line, _, below = token.value.partition("\n")
    token.value = f"{line}\n"
    return str(below)


def _comment(level: CommentedMap, key: Any, text: str, below: str) -> None:
    """Write a comment at the end of a line: after a user's own comment, and replacing one of an earlier proposal."""
    entry = level.ca.items.setdefault(key, [None, None, None, None])
    before, _, rest = entry[2].value.partition("\n") if entry[2] else ("", "", "")
    own = _MARK.sub("", before.strip().removeprefix("#")).strip()
    line = "; ".join(filter(None, (own, one_line(text))))
    entry[2] = CommentToken(f" # {line}\n{rest or below}", CommentMark(0), None)
