# SPDX-License-Identifier: BSD-3-Clause
"""How much a Parquet file becomes when it is read, told without unpacking anything of it.

The end of the file says where the pages of each column are, and a page begins with its size before and after packing:
what a reader makes room for. Both are structures of Thrift's compact protocol (parquet.thrift of the Apache Parquet
format: ``FileMetaData``, ``PageHeader``), of which fields are known by number.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

#: Nothing in these structures is nested as deep as this.
_DEEPEST = 16
#: The sizes of what is of no use here: truth values, which are told by their kind, bytes and floating-point numbers.
_PASSED_OVER = {1: 0, 2: 0, 3: 1, 7: 8}


class DamagedError(ValueError):
    """The file is no Parquet, or says what cannot be."""


def unpacked(path: Path, most_columns: int) -> int:
    """Return the bytes of all pages when unpacked.

    :param most_columns: more columns than these, in one group of rows, are refused.
    :raises DamagedError: if the file's structures are damaged, or have more columns.
    :raises OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise DamagedError("the file is empty") from None
        with data:
            try:
                return _unpacked(data, most_columns)
            except (IndexError, KeyError, TypeError, AttributeError):
                raise DamagedError("its description of the columns is damaged") from None


def _unpacked(data: mmap.mmap, most_columns: int) -> int:
    end = len(data) - 8
    begin = end - int.from_bytes(data[end : end + 4], "little")
    if end < 4 or data[end + 4 :] != b"PAR1" or begin < 4:
        raise DamagedError("the file does not end like a Parquet file")
    # 2: the schema, one entry more than columns; 4: the groups of rows. Entries are counted before they are read.
    footer, _ = _Reader(data, end, {(2,): most_columns + 1, (4, 1): most_columns}).struct(begin, ())
    total = 0
    for group in footer[4]:
        for column in group[1]:
            of = column[3]
            at = min(of[9], of.get(11) or of[9])
            last = at + of[7]
            if not 0 <= at <= last <= begin:
                raise DamagedError("a column lies outside the file")
            while at < last:
                page, at = _Reader(data, last, {}).struct(at, ())
                if min(page[2], page[3]) < 0:
                    raise DamagedError("a page has a size below 0")
                total += page[2]
                at += page[3]
    return total


class _Reader:
    """Thrift's compact protocol: structures as fields by number, lists as lists."""

    def __init__(self, data: mmap.mmap, end: int, most: dict[tuple[int, ...], int]) -> None:
        self.data, self.end, self.most = data, end, most

    def struct(self, at: int, path: tuple[int, ...]) -> tuple[dict[int, Any], int]:
        if len(path) > _DEEPEST:
            raise DamagedError("its structures are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte(at):
            at += 1
            if head >> 4:
                number += head >> 4
            else:
                number, at = self._integer(at)
            fields[number], at = self._value(head & 15, at, (*path, number))
        return fields, at + 1

    def _value(self, kind: int, at: int, path: tuple[int, ...]) -> tuple[Any, int]:
        if kind in _PASSED_OVER:
            return None, at + _PASSED_OVER[kind]
        if kind in (4, 5, 6):
            return self._integer(at)
        if kind == 8:
            size, at = self._whole(at)
            return None, at + size
        if kind in (9, 10):
            return self._list(at, path)
        if kind == 12:
            return self.struct(at, path)
        raise DamagedError(f"its structures have a field of kind {kind}")

    def _list(self, at: int, path: tuple[int, ...]) -> tuple[list[Any], int]:
        head = self._byte(at)
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else self._whole(at + 1)
        if count > self.most.get(path, count):
            raise DamagedError("it has more columns than any archive")
        found = []
        for _ in range(count):
            # A truth value is a byte in a list, and only there.
            value, at = self._value(3 if head & 15 in (1, 2) else head & 15, at, path)
            found.append(value)
        return found, at

    def _byte(self, at: int) -> int:
        if at >= self.end:
            raise DamagedError("its description of the columns is cut off")
        return self.data[at]

    def _whole(self, at: int) -> tuple[int, int]:
        value = 0
        for place in range(10):
            byte = self._byte(at + place)
            value |= (byte & 127) << 7 * place
            if byte < 128:
                return value, at + place + 1
        raise DamagedError("a number in it does not end")

    def _integer(self, at: int) -> tuple[int, int]:
        value, at = self._whole(at)
        return (value >> 1) ^ -(value & 1), at
