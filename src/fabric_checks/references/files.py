# SPDX-License-Identifier: BSD-3-Clause
"""Proposals into a file: the difference, and the file itself."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import ReferenceError
from fabric_checks.references import edit, reference_file, wording
from fabric_checks.references.propose import Proposal
from fabric_checks.references.reference_file import ReferenceFile


@dataclass(frozen=True)
class Applied:
    """What became of proposals.

    :param difference: as a patch; empty if nothing changes. :param written: whether the file has it.
    :param held_back: whether something would be looser, and was left out.
    """

    difference: str
    written: bool
    held_back: bool


def load_or_new(path: Path) -> ReferenceFile:
    """Read a reference file; one that is not there has no entries.

    :raises ReferenceError: if it is not of the form of :mod:`fabric_checks.references.reference_file`.
    """
    return reference_file.load(path) if path.exists() else ReferenceFile(path, {}, ())


def apply(path: Path, proposals: Sequence[Proposal], *, write: bool, allow_looser: bool, name: str) -> Applied:
    """Change a file, or say how it would change.

    :param write: whether to write it; then what is loosened is left out, unless that is allowed.
    :param name: what the patch calls the file.
    :raises ReferenceError: if the file cannot be changed in place, or would not load afterwards.
    """
    before = _read(path)
    wanted = [each for each in proposals if each.reference is not None]
    held_back = write and not allow_looser and any(each.action == "loosened" for each in wanted)
    if held_back:
        wanted = [each for each in wanted if each.action != "loosened"]
    text = before or f"# References of the system `{path.stem}`.\n\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    after = (
        edit.edited(text.replace("\r\n", "\n"), [wording.change(each) for each in wanted], path) if wanted else before
    )
    after = after.replace("\n", newline) if newline != "\n" else after
    patch = difflib.unified_diff(
        before.splitlines(True),
        after.splitlines(True),
        f"a/{name}" if path.exists() else "/dev/null",
        f"b/{name}",
    )
    difference = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in patch)
    written = write and after != before
    if written:
        _write(path, after)
    return Applied(difference, written, held_back)


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open(newline="") as file:
        return file.read()


def _write(path: Path, text: str) -> None:
    """Put a file in place of another, if it loads."""
    try:
        with files.replacing(path) as new:
            new.write_text(text, newline="")
            try:
                reference_file.load(new)
            except ReferenceError as error:
                raise ReferenceError(f"{path}: was left as it is, because the result would not load: {error}") from None
    finally:
        reference_file.load.cache_clear()
