# SPDX-License-Identifier: BSD-3-Clause
"""Write references into a reference file, with its comments and quotes kept."""

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

#: The top-level keys that are no checks; a new check goes before them.
OURS = ("evidence", "derived", "no_reference")
#: The start of a comment of ours; the next proposal replaces it.
_MARK = re.compile(r"(?:;\s*)?from \d+ runs .*$")


@dataclass(frozen=True)
class Setting:
    """A reference to set.

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
    """The outcome of proposals.

    :param difference: as a patch; empty if nothing changes.
    :param written: whether the file has it.
    :param held_back: whether something would be looser, and was left out.
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
    before = path.read_bytes().decode() if path.exists() else ""
    wanted = [each for each in proposals if each.reference is not None]
    held_back = write and not allow_looser and any(each.action == "loosened" for each in wanted)
    if held_back:
        wanted = [each for each in wanted if each.action != "loosened"]
    after = before
    if wanted:
        text = before or f"# References of the system `{path.stem}`.\n\n"
        after = edited(text.replace("\r\n", "\n"), [_setting(each) for each in wanted], path)
        after = after.replace("\n", "\r\n") if "\r\n" in text else after
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
            new.write_text(text, newline="")
            try:
                reference_file.load(new)
            except ReferenceError as error:
                raise ReferenceError(f"{path}: was left as it is, because the result would not load: {error}") from None
    finally:
        reference_file.load.cache_clear()


def edited(text: str, changes: Sequence[Setting], path: object = "the file") -> str:
    """Return the text of a file with changes; other values and all comments stay.

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
            below = below or _take_comments_below(level)
            new = CommentedMap()
            if level is content:
                new["$index"] = _flow(change.index)
                level.insert(_first_of_ours(level), _key(key), new)
            else:
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


def _first_of_ours(content: CommentedMap) -> int:
    """Return where a new check goes: after the last one. A comment right above the first key stays with that."""
    position = 1 + max((at for at, key in enumerate(content) if key not in OURS), default=-1)
    if position == 0 and content and content.ca.comment and content.ca.comment[1]:
        head, blank, own = "".join(token.value for token in content.ca.comment[1]).rpartition("\n\n")
        if blank and own:
            content.ca.comment[1] = [_token(f"{head}{blank}")]
            content.ca.items.setdefault(next(iter(content)), [None, None, None, None])[1] = [_token(own)]
    return position


def _take_comments_below(level: CommentedMap) -> str:
    """Return the comments below the last value of a mapping, and take them from it: a new key goes above them."""
    keys = [key for key in level if key not in OURS]
    if not keys:
        return ""
    last = level[keys[-1]]
    if isinstance(last, CommentedMap) and last and not last.fa.flow_style():
        return _take_comments_below(last)
    token = (level.ca.items.get(keys[-1]) or [None] * 3)[2]
    if token is None:
        return ""
    line, _, below = token.value.partition("\n")
    token.value = f"{line}\n"
    return str(below)


def _comment(level: CommentedMap, key: Any, text: str, below: str) -> None:
    """Write a comment at the end of a line, after that of a person, in place of an earlier one of ours."""
    entry = level.ca.items.setdefault(key, [None, None, None, None])
    before, _, rest = entry[2].value.partition("\n") if entry[2] else ("", "", "")
    kept = _MARK.sub("", before.strip().removeprefix("#")).strip()
    new = one_line(text)
    entry[2] = _token(f" # {kept}; {new}\n{rest or below}" if kept else f" # {new}\n{rest or below}")


def _token(text: str) -> CommentToken:
    return CommentToken(text, CommentMark(0), None)
