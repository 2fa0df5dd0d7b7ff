# SPDX-License-Identifier: BSD-3-Clause
"""Read records into one table."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.records import archive, database, jsonlines, listing, order, selection, validation
from fabric_checks.records.faults import LEFT_OUT, Faults, one_line
from fabric_checks.records.record import FIELDS
from fabric_checks.records.schema import COLUMNS, MEASUREMENT, REPEATED
from fabric_checks.records.series import folded, mixed_units
from fabric_checks.records.sources import Source

#: One reads while the others are parsed; more would not be faster, as Polars itself parses a block on several cores.
_THREADS = min(4, (os.cpu_count() or 1) + 1)


@dataclass(frozen=True)
class Loaded:
    """What was read.

    :param frame: the good records: a column ``side``, the label of the source, and the columns asked for, of the types
        of :data:`fabric_checks.records.schema.COLUMNS`. A case that failed before it had any has a record whose
        ``metric`` and ``value`` are null. In the order of ``time`` within a side.
    :param faults: a line for each record that was left out and each file that could not be read, with file, line,
        cause and remedy. A command prints them and exits with a status other than 0.
    """

    frame: pl.DataFrame
    faults: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is no fault of a record but good to know: a line for each metric whose unit is not always the same."""
        return mixed_units(self.frame)


def load(sources: Sequence[Source], columns: Collection[str] = FIELDS, *, compact: bool = False) -> Loaded:
    """Read sets of results.

    Of a record that is there twice one is kept. A column that is not asked for is not checked, but for those that make
    a record: :data:`fabric_checks.records.validation.ALWAYS`.

    :param columns: the fields that are wanted; few are read faster.
    :param compact: if :data:`fabric_checks.records.schema.REPEATED` are to be ``pl.Categorical``: for
        millions of records. They compare, group and join as text does; text functions need a cast to ``pl.String``.
    :raises RecordError: if a source does not exist or has no record at all.
    """
    wanted = _in_order(columns)
    frames: dict[int, pl.DataFrame] = {}
    faults: list[str] = []
    for path, parts in _by_path(sources).items():
        listed = _listed(path, parts)
        for source, frame, lines in _parts(listed, parts, columns):
            faults += lines
            frames[id(source)] = _side(frame, source.label, wanted, compact=compact)
    return Loaded(pl.concat(frames[id(source)] for source in sources), tuple(dict.fromkeys(faults)))


def load_folded(
    sources: Sequence[Source], columns: Collection[str], faults: list[str]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Read sets of results as :func:`load` does, those of an archive a month at a time: a hundred million records.

    :param columns: the fields that are wanted: ``time``, ``value``, and at least one more.
    :param faults: gets lines as those of :class:`Loaded`.
    :returns: label and records of one part after the other, as :func:`fabric_checks.records.series.folded` gives them.
        The parts of a set of results need not be in the order of time.
    :raises RecordError: as :func:`load`.
    """
    wanted = _in_order(columns)
    for path, parts in _by_path(sources).items():
        listed = _listed(path, parts)
        if listed.files.json_lines or listed.files.databases:
            for source, frame, lines in _parts(listed, parts, columns):
                faults += [line for line in lines if line not in faults]
                yield source.label, folded(frame.select(wanted))
            continue
        for source in parts:
            months = (
                _folded_month(month, source, wanted, listed.faults)
                for month in archive.chosen(listed.files.parquet, [source])
            )
            nothing = True
            for month in months:
                if month.height:
                    nothing = False
                    yield source.label, month
            lines = list(listed.faults.lines())
            if nothing:
                raise RecordError(_nothing(source, lines))
            faults += [line for line in lines if line not in faults]


@dataclass(frozen=True)
class _Listed:
    files: listing.Files
    faults: Faults


def _in_order(columns: Collection[str]) -> list[str]:
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}")
    return [name for name in FIELDS if name in columns]


def _by_path(sources: Sequence[Source]) -> dict[Path, list[Source]]:
    by_path: dict[Path, list[Source]] = {}
    for source in sources:
        by_path.setdefault(source.path.absolute(), []).append(source)
    return by_path


def _listed(path: Path, sources: Sequence[Source]) -> _Listed:
    if not path.exists():
        raise RecordError(f"{sources[0].path}: there is no such file or folder")
    faults = Faults()
    return _Listed(listing.files_of(sources[0].path, faults), faults)


def _parts(
    listed: _Listed, sources: Sequence[Source], columns: Collection[str]
) -> Iterator[tuple[Source, pl.DataFrame, list[str]]]:
    """Read the sources of one path, such as before and after a date; return the records and the faults of each.

    :raises RecordError: if one has no records.
    """
    files, faults = listed.files, listed.faults
    wanted = _needed(columns, sources)
    if len(sources) == 1 or not (files.json_lines or files.databases):
        # An archive gives each source its own part.
        for source in sources:
            yield source, _one([source], files, wanted, faults), list(faults.lines())
        return
    whole = _one(sources, files, wanted, faults)
    for source in sources:
        condition = selection.condition([source])
        frame, lines = whole if condition is None else whole.filter(condition), list(faults.lines())
        if not frame.height:
            raise RecordError(_nothing(source, lines))
        yield source, frame, lines


def _needed(columns: Collection[str], sources: Sequence[Source]) -> list[str]:
    """Return the columns that have to be read."""
    needed = {"time", *columns, *(name for source in sources for name in source.where)}
    return [name for name in FIELDS if name in needed]


def _side(frame: pl.DataFrame, label: str, wanted: Sequence[str], *, compact: bool) -> pl.DataFrame:
    text = pl.Categorical() if compact else pl.String()
    columns = [pl.col(name).cast(text) if name in REPEATED else pl.col(name) for name in wanted]
    return frame.select(pl.lit(label, text).alias("side"), *columns)


def _one(sources: Sequence[Source], files: listing.Files, wanted: Sequence[str], faults: Faults) -> pl.DataFrame:
    """Read what any of some sources wants, in the order of time; the columns that repeat are categories."""
    only_archive = not (files.json_lines or files.databases)
    # What an archive has was checked, and freed of what is there twice, when it was written.
    columns = [name for name in FIELDS if name in wanted or (name in validation.ALWAYS and not only_archive)]
    logs = [*files.json_lines, *files.databases]
    frames = list(_json_lines(files.json_lines, columns, sources, faults))
    for number, file in enumerate(files.databases, len(files.json_lines)):
        frames += _database(file, number, columns, sources, faults)
    for month in archive.chosen(files.parquet, sources):
        frames += _parquet(month, columns, sources, faults, numbered=not only_archive)
    frames = [frame for frame in frames if frame.height]
    if not frames:
        raise RecordError(_nothing(sources[0], list(faults.lines())))
    frame = pl.concat(frames)
    del frames
    if not only_archive:
        frame = order.without_duplicates(frame, MEASUREMENT, logs, faults)
        order.note_backward_clocks(frame, logs, faults)
    return order.by_time(frame.select(wanted))


def _nothing(source: Source, faults: Sequence[str]) -> str:
    limits = selection.text(source)
    which = f" that fits {limits}" if limits else ""
    count = "1 fault: " if len(faults) == 1 else f"{len(faults)} faults, the first: "
    cause = f"; {count}{faults[0]}" if faults else ""
    return one_line(f"{source.path}: no sound record{which}{cause}")


def _compact(frame: pl.DataFrame, sources: Sequence[Source]) -> pl.DataFrame:
    condition = selection.condition(sources)
    if condition is not None:
        frame = frame.filter(condition)
    return frame.with_columns(pl.col(name).cast(pl.Categorical()) for name in REPEATED if name in frame.columns)


@dataclass(frozen=True)
class _Part:
    """The records of a block, its number of lines, and those to blame; their numbers are from 1."""

    frame: pl.DataFrame
    lines: int
    causes: list[tuple[int, str]]


def _json_lines(
    paths: Sequence[Path], columns: Sequence[str], sources: Sequence[Source], faults: Faults
) -> Iterator[pl.DataFrame]:
    """Read files of JSON lines, several blocks at once; at most a few blocks are in memory."""
    schema = validation.raw_schema(columns)
    waiting: deque[tuple[int, Future[_Part]]] = deque()
    lines = [0] * len(paths)

    def finished() -> pl.DataFrame:
        number, future = waiting.popleft()
        try:
            part = future.result()
        except OSError as error:
            faults.add(paths[number], 0, f"{error.strerror}; the file is left out from line {lines[number] + 1} on")
            return pl.DataFrame()
        for line, cause in sorted(part.causes):
            faults.add(paths[number], lines[number] + line, cause + LEFT_OUT)
        frame = part.frame.with_columns(pl.col("line") + lines[number], pl.lit(number, pl.Int32).alias("file"))
        lines[number] += part.lines
        return frame

    with ThreadPoolExecutor(_THREADS) as pool:
        for number, path in enumerate(paths):
            try:
                for span in jsonlines.spans(path):
                    waiting.append((number, pool.submit(_part, path, span, schema, sources)))
                    if len(waiting) > _THREADS + 1:
                        yield finished()
            except OSError as error:
                faults.add(path, 0, f"{error.strerror}; the file is left out")
        while waiting:
            yield finished()


def _part(path: Path, span: tuple[int, int], schema: Mapping[str, pl.DataType], sources: Sequence[Source]) -> _Part:
    causes: list[tuple[int, str]] = []

    def report(line: int, cause: str) -> None:
        causes.append((line, cause))

    block = jsonlines.read(path, span, report)
    good, unsound = validation.checked(jsonlines.parse(block, schema, report))
    return _Part(_compact(good, sources), len(block.ends), causes + unsound)


def _database(
    path: Path, number: int, columns: Sequence[str], sources: Sequence[Source], faults: Faults
) -> Iterator[pl.DataFrame]:
    schema = validation.raw_schema(columns)
    found: list[tuple[int, dict[str, Any]]] = []

    def report(case: int, cause: str) -> None:
        faults.add(path, case, f"{cause}; it is left out")

    try:
        found += database.records(path, report)
    except FileError as error:
        faults.add(error.path, 0, error.cause)
    good, unsound = validation.checked(jsonlines.frame_of(found, schema, report), any_unit=True)
    for case, cause in unsound:
        report(case, cause)
    yield _compact(good, sources).with_columns(pl.lit(number, pl.Int32).alias("file"))


def _row(faults: Faults, path: Path, row: int, cause: str) -> None:
    faults.add(path, row, f"{cause}; the row is left out")


def _parquet(
    paths: Sequence[Path], columns: Sequence[str], sources: Sequence[Source], faults: Faults, *, numbered: bool
) -> Iterator[pl.DataFrame]:
    """Read the files of a month; in the order of time, so that the whole need not be sorted."""
    frames = []
    for path in paths:
        try:
            frames.append(archive.read(path, columns, partial(_row, faults, path), selection.condition(sources)))
        except FileError as error:
            faults.add(error.path, 0, error.cause)
    if frames:
        frame = order.by_time(pl.concat(frames))
        if numbered:
            frame = frame.with_columns(pl.lit(None, pl.Int64).alias("line"), pl.lit(None, pl.Int32).alias("file"))
        yield frame


def _folded_month(paths: Sequence[Path], source: Source, wanted: Sequence[str], faults: Faults) -> pl.DataFrame:
    """Read the files of a month; its text is checked when there is little of it."""
    columns, condition = _needed(wanted, [source]), selection.condition([source])
    try:
        frame = pl.concat(archive.read_unchecked(path, columns, condition, compact=False) for path in paths)
        kinds = folded(order.by_time(frame).select(wanted))
        names = [name for name in wanted if name not in ("time", "value")]
        if validation.is_sound(frame, kinds.select(names)):
            return kinds
    except FileError:
        pass  # which is told below
    sound = list(_parquet(paths, columns, [source], faults, numbered=False))
    return folded(pl.concat(sound).select(wanted)) if sound else pl.DataFrame()
