# SPDX-License-Identifier: BSD-3-Clause
"""Read files of JSON lines in blocks of whole lines, so that memory is bounded."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from fabric_checks.core.errors import quoted
from fabric_checks.records.table import Report

#: The size of a block in bytes; a longer line is a block of its own, and a line of four blocks is no record.
BLOCK_B = 16 * 2**20
LONGEST_LINE_B = 4 * BLOCK_B
_PIECE_B = 2**16
#: What comes before the cause of a line without its end.
CUT = "half-written, as after a crash: "
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file; the last of the file may lack its end.

    :param first_line: the number of the first, from 1.
    """

    data: bytes
    first_line: int = 1

    @cached_property
    def ends(self) -> npt.NDArray[np.intp]:
        """Return where lines end, in bytes from the beginning."""
        return np.flatnonzero(np.frombuffer(self.data, np.uint8) == ord("\n"))


def spans(path: Path, start: int = 0) -> Iterator[tuple[int, int]]:
    """Return where the blocks of a file begin and end, in bytes, from the beginning of a line on.

    :raises OSError: if it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        size = _settled_size(file.fileno())
        while start < size:
            end = _end_of_block(file.fileno(), start, size)
            yield start, end
            start = end


def read(path: Path, span: tuple[int, int], report: Report, first_line: int = 1) -> Block:
    """Read a block; ``report`` gets number and cause of a line that is too long to be a record.

    :raises OSError: if it cannot be read.
    """
    start, end = span
    too_long = end - start > LONGEST_LINE_B
    with path.open("rb", buffering=0) as file:
        data = os.pread(file.fileno(), _PIECE_B if too_long else end - start, start)
    if too_long:
        report(first_line, f"a line of more than {LONGEST_LINE_B // 2**20} MiB: {_start(data)}")
        data = b"\n"
    return Block(data, first_line)


def blocks(path: Path, report: Report, start: int = 0, line: int = 1) -> Iterator[Block]:
    """Read a file block by block.

    :param start: where to begin, in bytes; :param line: the number of the line there.
    :raises OSError: if it cannot be read.
    """
    for span in spans(path, start):
        block = read(path, span, report, line)
        yield block
        line += len(block.ends)


def _end_of_block(descriptor: int, start: int, size: int) -> int:
    """Return the end of the last line that ends within a block's size; if none does, that of the first."""
    at = start + BLOCK_B
    if at >= size:
        return size
    while at > start:
        low = max(start, at - _PIECE_B)
        if end := os.pread(descriptor, at - low, low).rfind(b"\n") + 1:
            return low + end
        at = low
    at = start + BLOCK_B
    while at < size and (piece := os.pread(descriptor, BLOCK_B, at)):
        if end := piece.find(b"\n") + 1:
            return min(at + end, size)
        at += len(piece)
    return size


def _settled_size(descriptor: int) -> int:
    """Return the size of a file between two writes, so that no line is taken that is being written."""
    for _ in range(100):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        except OSError:
            break  # a file system without locks
        size = os.fstat(descriptor).st_size
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return size
    return os.fstat(descriptor).st_size


def lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block that are not empty, with their numbers."""
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        if line.strip():
            yield number, line


def is_cut(block: Block, number: int) -> bool:
    """Tell whether a line lacks its end, as after a crash."""
    return number == block.first_line + len(block.ends)


def parsed(line: bytes) -> dict[str, Any]:
    """Read one line.

    :raises ValueError: with the cause, if it is no JSON object.
    """
    try:
        record = msgspec.json.decode(line.removeprefix(BYTE_ORDER_MARK))
    except RecursionError:
        raise ValueError(f"not a JSON object (nested too deeply): {_start(line)}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"not a JSON object ({error}): {_start(line)}") from None
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object: {_start(line)}")
    return record


def _start(line: bytes) -> str:
    return quoted(line[:200].decode(errors="replace").strip(), 40)
