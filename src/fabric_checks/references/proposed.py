# SPDX-License-Identifier: BSD-3-Clause
"""Write a file of proposed references: a copy of the system's file, to look at and to move over it.

Entries of checks without a proposal, the lists, and all comments outside of changed entries are copied as
they are. A changed entry is written anew, a line for each reference with the comment that its line had; the
comment of a proposed one says what it is from.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.text import one_line
from fabric_checks.references import proposal_text
from fabric_checks.references.lookup import Keys, Slot
from fabric_checks.references.propose import Proposal
from fabric_checks.references.reference_file import ReferenceFile, load

#: The start of a comment of ours; the next proposal replaces it.
_MARK = re.compile(r"(?:;\s*)?from \d+ (?:runs?|pass(?:es)?) .*$")


def load_or_new(path: Path) -> ReferenceFile:
    """Read a reference file; a missing one has no entries.

    :raises ReferenceError: if it is not of the form of :mod:`fabric_checks.references.reference_file`.
    """
    return load(path) if path.exists() else ReferenceFile(path, {}, ())


def path_of(path: Path) -> Path:
    """Return the file of the proposals for a reference file, in the same folder."""
    return path.with_name(f"{path.stem}.proposed.yaml")


def write(path: Path, proposals: Sequence[Proposal]) -> str:
    """Write the file of the proposals, and return how it differs from the system's; nothing, if nothing is
    proposed.

    :param path: of the system's file.
    :raises ReferenceError: if it would not load.
    """
    if not any(each.reference for each in proposals):
        return ""
    before = path.read_text() if path.exists() else ""
    after = changed(
        before or f"# References of the system `{path.stem}`.\n\n", proposals, path
    )
    target = path_of(path)
    with files.replacing(target) as new:
        new.write_text(after)
        if before:
            shutil.copymode(path, new)
        try:
            load(new)
        except ReferenceError as error:
            raise ReferenceError(
                f"{path}: what is proposed would not load: {error}"
            ) from None
    names = (str(path) if before else "/dev/null", str(target))
    patch = difflib.unified_diff(
        before.splitlines(), after.splitlines(), *names, lineterm=""
    )
    return "".join(f"{line}\n" for line in patch)


def changed(text: str, proposals: Sequence[Proposal], path: Path) -> str:
    """Return the text of a reference file with proposals.

    :param path: of the file that the text is of, if there is one.
    """
    lines = text.splitlines()
    at = yaml_file.lines(path) if path.exists() else {}
    comments = {keys: _comment_of(lines[number - 1]) for keys, number in at.items()}
    content: dict[str, Any] = yaml.load(text, yaml_file.Loader) or {}
    entries: dict[str, Any] = {}
    for proposal in proposals:
        if proposal.slot and proposal.reference:
            _set(entries, content, comments, proposal, proposal.slot)
    starts = {keys[0]: number for keys, number in at.items() if len(keys) == 1}
    # From the last to the first, so that the numbers of the lines stay what they are.
    for check, entry in sorted(
        entries.items(), key=lambda item: starts.get(item[0], 0), reverse=True
    ):
        start, end = _span(lines, starts, check)
        lines[start:end] = _entry({check: entry}, (), comments)
    return "\n".join(lines) + "\n"


def _set(
    entries: dict[str, Any],
    content: Mapping[str, Any],
    comments: dict[Keys, str],
    proposal: Proposal,
    slot: Slot,
) -> None:
    """Set a reference in the entry of its check, with its comment."""
    level = entries.setdefault(
        slot.check, content.get(slot.check) or {"$index": list(slot.index)}
    )
    for key in slot.keys:
        level = level.setdefault(key, {})
    level[slot.metric] = list(proposal.reference or ())
    keys = (slot.check, *slot.keys, slot.metric)
    own = _MARK.sub("", comments.get(keys, "")).strip()
    comments[keys] = "; ".join(
        filter(None, (own, one_line(proposal_text.comment(proposal))))
    )


def _span(
    lines: Sequence[str], starts: Mapping[str, int], check: str
) -> tuple[int, int]:
    """Return the first line of an entry, counted from 0, and the one after its last; of a new one the end."""
    if check not in starts:
        return len(lines), len(lines)
    start = starts[check]
    end = min(
        (number - 1 for number in starts.values() if number > start), default=len(lines)
    )
    while end > start and re.fullmatch(r"\s*|#.*", lines[end - 1]):
        end -= 1  # what stands above the next entry is of that
    return start - 1, end


def _comment_of(line: str) -> str:
    """Return the comment at the end of a line with a key or a reference, without its mark."""
    found = re.search(r"[]}:]\s+#\s*(.*)$", line)
    return found[1].strip() if found else ""


def _entry(
    level: Mapping[Any, Any], above: Keys, comments: Mapping[Keys, str]
) -> Iterator[str]:
    """Yield the lines of an entry, in block style down to its references."""
    for key, value in level.items():
        keys = (*above, key)
        indent, comment = "  " * len(above), comments.get(keys, "")
        own = "" if isinstance(value, dict) else f" {_flow(value)}"
        yield f"{indent}{_flow(key)}:{own}{f'  # {comment}' if comment else ''}"
        if isinstance(value, dict):
            yield from _entry(value, keys, comments)


def _flow(value: Any) -> str:
    """Return a value on one line, as YAML 1.1 has it, which ReFrame reads."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")
