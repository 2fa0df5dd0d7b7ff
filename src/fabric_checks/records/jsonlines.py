# SPDX-License-Identifier: BSD-3-Clause
"""Read files of JSON lines: fast where they are sound, line by line where they are not.

A file is read in blocks of whole lines. Polars parses a block at once, or refuses it; a refused one is taken apart with
Python's parser, which finds the lines to blame. So a bad line costs the time of its block, and memory is bounded.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from fabric_checks.core.errors import quoted
from fabric_checks.records.table import NESTED, Report, frame_of

#: The size of a block in bytes; a longer line is a block of its own, and a line of four blocks is no record.
BLOCK_B = 16 * 2**20
LONGEST_LINE_B = 4 * BLOCK_B
_PIECE_B = 2**16
_BYTE_ORDER_MARK = b"\xef"  # its first byte
# Polars' parser calls itself for each level of nesting, and ends the process at some 3000. A shorter line has less.
_HARMLESS_B = 4000
_DEEPEST = 200


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


def parse(block: Block, schema: Mapping[str, pl.DataType], report: Report) -> pl.DataFrame:
    """Read the records of a block.

    :param schema: which columns, of which types.
    :param report: is called with number and cause of each line that is no record.
    :returns: a row a record, with a column ``line`` more; what a record does not have is null.
    """
    data = block.data
    count, longest = _measure(block)
    if longest <= _HARMLESS_B or not _is_deep(data):
        with contextlib.suppress(pl.exceptions.PolarsError):
            frame = pl.read_ndjson(io.BytesIO(data), schema=dict(schema))
            numbers: Sequence[int] | npt.NDArray[np.int64] = np.arange(frame.height) + block.first_line
            if frame.height != count:
                lines = enumerate(data.split(b"\n"), block.first_line)
                numbers = [number for number, line in lines if line.strip()]
            if len(numbers) == frame.height and _is_json(frame):
                return _alike(frame).with_columns(pl.Series("line", numbers, dtype=pl.Int64))
    return frame_of(records(block, report), schema, report)


def _measure(block: Block) -> tuple[int, int]:
    """Return how many lines there are, and the length of the longest, with its end."""
    size, ends = len(block.data), block.ends + 1
    if not len(ends) or ends[-1] < size:
        ends = np.append(ends, size)
    return len(ends), int(np.diff(ends, prepend=0).max())


def _is_deep(data: bytes) -> bool:
    """Tell whether a line has many brackets open at once; those in texts count too."""
    whole = np.frombuffer(data, np.uint8)
    # [ and { differ in one bit, and so do ] and }.
    folded = whole | 0x20
    at = np.flatnonzero((folded == ord("{")) | (folded == ord("}")) | (whole == ord("\n")))
    signs = folded[at]
    depth = np.cumsum((signs == ord("{")).astype(np.int64) - (signs == ord("}")))
    # Every line begins anew.
    ends = np.flatnonzero(whole[at] == ord("\n"))
    before = np.repeat(np.concatenate([[0], depth[ends]]), np.diff(np.concatenate([[0], ends + 1, [len(at)]])))
    return bool((depth - before).max(initial=0) > _DEEPEST)


def _is_json(frame: pl.DataFrame) -> bool:
    """Tell whether Polars wrote all nested values as JSON: it does not escape every character that has to be."""
    for name in (name for name in NESTED if name in frame.columns):
        for text in frame[name].unique().drop_nulls():
            try:
                json.loads(text)
            except (ValueError, RecursionError):
                return False
    return True


def _alike(frame: pl.DataFrame) -> pl.DataFrame:
    """Write parameters, by which tests are grouped, as Python's JSON does: Polars leaves out the blanks."""
    if "parameters" not in frame.columns:
        return frame
    found = frame["parameters"].unique().drop_nulls().to_list()
    same = [json.dumps(json.loads(text), ensure_ascii=False) for text in found]
    return frame.with_columns(pl.col("parameters").replace(found, same))


def records(block: Block, report: Report, about: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a block line by line; ``report`` gets number and cause of each line that is no JSON object.

    :param about: a text; whole lines without it are passed over unread.
    """
    wanted = json.dumps(about)[1:-1].encode() if about else b""
    lines = block.data.split(b"\n")
    last = block.first_line + len(lines) - 1  # empty, but for a file whose last line has no end
    for number, line in enumerate(lines, block.first_line):
        if not line.strip() or (wanted not in line and line.startswith(b"{") and line.endswith(b"}")):
            continue
        try:
            yield number, parsed(line)
        except ValueError as error:
            report(number, f"{'half-written, as after a crash: ' if number == last else ''}{error}")


def parsed(line: bytes) -> dict[str, Any]:
    """Read one line.

    :raises ValueError: with the cause, if it is no JSON object.
    """
    if line.lstrip()[:1] not in (b"{", _BYTE_ORDER_MARK):
        raise ValueError(f"not a JSON object: {_start(line)}")
    try:
        record = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise ValueError(f"not UTF-8 text: {_start(line)}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON object ({error.msg}): {_start(line)}") from None
    except ValueError as error:
        why = "a number with thousands of digits" if "digits" in str(error) else str(error)
        raise ValueError(f"{why}: {_start(line)}") from None
    except RecursionError:
        raise ValueError(f"not a JSON object (nested too deeply): {_start(line)}") from None
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object: {_start(line)}")
    return record


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _start(line: bytes) -> str:
    return quoted(line[:200].decode(errors="replace").strip(), 40)
