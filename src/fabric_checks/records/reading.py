# SPDX-License-Identifier: BSD-3-Clause
"""Read sets of results into tables: each valid record once, in the order of time."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.core.text import one_line
from fabric_checks.records import archive, jsonlines, validation
from fabric_checks.records.record import FIELDS, MEASUREMENT
from fabric_checks.records.series import aggregated
from fabric_checks.records.sources import LEFT_OUT, Faults, Files, Source, condition, files_of, limits_text
from fabric_checks.records.table import COLUMNS, REPEATED

#: One reads while the others are parsed; more would not be faster, as Polars itself parses a block on several cores.
_THREADS = min(4, (os.cpu_count() or 1) + 1)


@dataclass(frozen=True)
class Loaded:
    """The records of sets of results.

    :param frame: the valid records: a column ``side``, the label of the source, and the columns asked for, of the types
        of :data:`fabric_checks.records.table.COLUMNS`. A case that failed before it had values has a record whose
        ``metric`` and ``value`` are null. In the order of ``time`` within a side.
    :param faults: a line for each record that was left out and each file that could not be read, with file, line,
        cause and remedy. A command prints them and exits with a status other than 0.
    """

    frame: pl.DataFrame
    faults: tuple[str, ...] = ()


def load(sources: Sequence[Source], columns: Collection[str] = FIELDS, *, compact: bool = False) -> Loaded:
    """Read sets of results.

    A record that occurs twice is used once. A column that is not asked for is not checked, except for those that make
    a record: :data:`fabric_checks.records.validation.ALWAYS`.

    :param columns: the fields that are wanted; few are read faster.
    :param compact: whether :data:`fabric_checks.records.table.REPEATED` are ``pl.Categorical``, for millions of
        records. They compare, group and join as text does; text functions need a cast to ``pl.String``.
    :raises RecordError: if a source does not exist or has no record at all.
    """
    wanted = _in_order(columns)
    frames: list[pl.DataFrame] = []
    faults: list[str] = []
    for source in sources:
        noted = Faults()
        frame = _by_time(pl.concat(_records(source, columns, noted)))
        frames.append(_side(frame, source.label, wanted, compact=compact))
        faults += noted.lines()
    return Loaded(pl.concat(frames), tuple(dict.fromkeys(faults)))


def load_aggregated(
    sources: Sequence[Source], columns: Collection[str], faults: list[str]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Read sets of results as :func:`load` does, but an archive a month at a time: a hundred million records.

    :param columns: the fields that are wanted: ``time``, ``value``, and at least one more.
    :param faults: gets lines as those of :class:`Loaded`.
    :returns: label and records of one part after the other, as :func:`fabric_checks.records.series.aggregated` returns
        them. The parts of a set of results need not be in the order of time.
    :raises RecordError: as :func:`load`.
    """
    wanted = _in_order(columns)
    for source in sources:
        noted = Faults()
        for frame in _records(source, columns, noted):
            yield source.label, aggregated(frame.select(wanted))
        faults += [line for line in noted.lines() if line not in faults]


def parts(files: Files, faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the valid records of files with all fields, a part at a time; repeated text is in categories.

    Records that occur twice are not removed.

    :param faults: gets the records and files that are left out.
    """
    everything = Source("", Path())
    frames = chain(
        _json_lines(files.json_lines, FIELDS, everything, faults),
        (_parquet([path], FIELDS, everything, faults) for path in files.parquet),
    )
    for frame in frames:
        if frame.height:
            yield frame.select(FIELDS)


def of_session(results: Path, session: str, earliest_s: float, faults: Faults) -> list[dict[str, Any]]:
    """Read the records of one session from the perflogs in a folder of results, with all their fields.

    :param earliest_s: files that were not written to since then, in seconds since the epoch, are skipped.
    :param faults: gets the lines and files that are left out. A line that is no record may be of another session;
        valid lines of other sessions are not parsed, for speed.
    """
    found: list[dict[str, Any]] = []
    if not (results / "perflogs").is_dir():
        return found
    try:
        paths = files_of(results, faults).json_lines
    except RecordError:
        return found  # no case has come to its records, which the session's report names better
    for path in paths:
        try:
            if path.stat().st_mtime >= earliest_s:
                found += _of_session(path, session, faults)
        except OSError as error:
            faults.add(path, 0, f"{error.strerror}; the file is left out")
    return found


def _of_session(path: Path, session: str, faults: Faults) -> Iterator[dict[str, Any]]:
    report = faults.reporter(path)
    for block in jsonlines.blocks(path, report):
        records = jsonlines.records(block, report, about=session)
        # A line whose session is no text is checked, so that it is named.
        ours = [
            each for each in records if each[1].get("session") == session or not isinstance(each[1].get("session"), str)
        ]
        for record in validation.checked_records(ours, report):
            if record["session"] == session:
                yield record


def _in_order(columns: Collection[str]) -> list[str]:
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}")
    return [name for name in FIELDS if name in columns]


def _records(source: Source, columns: Collection[str], faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the records of a source: an archive month by month, anything else as a whole.

    :param columns: those that are wanted; the frames may have more.
    :returns: frames in the order of time, with repeated text in categories; at least one, and none is empty.
    :raises RecordError: if the source does not exist or has no records.
    """
    if not source.path.exists():
        raise RecordError(f"{source.path}: there is no such file or folder")
    files = files_of(source.path, faults)
    # The records of an archive were checked, and freed of duplicates, when it was written.
    always = validation.ALWAYS if files.json_lines else ()
    needed = [name for name in FIELDS if name in {"time", *columns, *source.where, *always}]
    parts: Iterable[pl.DataFrame]
    parts = (_parquet(month, needed, source, faults) for month in _months(files.parquet, source))
    if files.json_lines:
        lines = _json_lines(files.json_lines, needed, source, faults)
        parts = [_merged([*lines, *parts], files.json_lines, faults)]
    nothing = True
    for part in parts:
        if part.height:
            nothing = False
            yield part
    if nothing:
        raise RecordError(_nothing(source, list(faults.lines())))


def _merged(frames: Iterable[pl.DataFrame], logs: Sequence[Path], faults: Faults) -> pl.DataFrame:
    """Return the records of several frames, each once, in the order of time.

    :param logs: the files of JSON lines, which the column ``file`` counts.
    """
    frame = pl.concat([frame for frame in frames if frame.height] or [pl.DataFrame()], how="diagonal")
    if not frame.height:
        return frame
    return _by_time(_without_duplicates(frame, logs, faults))


def _side(frame: pl.DataFrame, label: str, wanted: Sequence[str], *, compact: bool) -> pl.DataFrame:
    text = pl.Categorical() if compact else pl.String()
    columns = [pl.col(name).cast(text) if name in REPEATED else pl.col(name) for name in wanted]
    return frame.select(pl.lit(label, text).alias("side"), *columns)


def _nothing(source: Source, faults: Sequence[str]) -> str:
    limits = limits_text(source)
    which = f" that fits {limits}" if limits else ""
    count = "1 fault: " if len(faults) == 1 else f"{len(faults)} faults, the first: "
    cause = f"; {count}{faults[0]}" if faults else ""
    if not faults and not limits:
        cause = "; name other records, or start a run with ci/run"
    return one_line(f"{source.path}: no sound record{which}{cause}")


def _compact(frame: pl.DataFrame, source: Source) -> pl.DataFrame:
    wanted = condition(source)
    if wanted is not None:
        frame = frame.filter(wanted)
    return frame.with_columns(pl.col(name).cast(pl.Categorical()) for name in REPEATED if name in frame.columns)


@dataclass(frozen=True)
class _Part:
    """The records of a block, its number of lines, and the bad ones; their numbers are from 1."""

    frame: pl.DataFrame
    lines: int
    causes: list[tuple[int, str]]


def _json_lines(
    paths: Sequence[Path], columns: Sequence[str], source: Source, faults: Faults
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
                    waiting.append((number, pool.submit(_part, path, span, schema, source)))
                    if len(waiting) > _THREADS + 1:
                        yield finished()
            except OSError as error:
                faults.add(path, 0, f"{error.strerror}; the file is left out")
        while waiting:
            yield finished()


def _part(path: Path, span: tuple[int, int], schema: Mapping[str, pl.DataType], source: Source) -> _Part:
    causes: list[tuple[int, str]] = []

    def report(line: int, cause: str) -> None:
        causes.append((line, cause))

    block = jsonlines.read(path, span, report)
    good, unsound = validation.checked(jsonlines.parse(block, schema, report))
    return _Part(_compact(good, source), len(block.ends), causes + unsound)


def _months(files: Sequence[Path], source: Source) -> list[list[Path]]:
    """Return the files of an archive that may have records of a source, by their folders; a list for each month."""
    months: dict[str, list[Path]] = {}
    for path in files:
        if _may_have(path, source):
            months.setdefault(path.parent.name, []).append(path)
    return [months[month] for month in sorted(months)]


def _may_have(path: Path, source: Source) -> bool:
    named = dict(part.split("=", 1) for part in path.parts[-3:-1] if "=" in part)
    system, month = named.get("system"), named.get("month", "")
    if system is not None and unquote(system) != source.where.get("system", unquote(system)):
        return False
    if not re.fullmatch(r"[12]\d{3}-(0[1-9]|1[0-2])", month):
        return True
    first = datetime.fromisoformat(f"{month}-01").replace(tzinfo=timezone.utc)
    if source.until and first >= source.until:
        return False
    # 32 days on is in the next month for sure, or on its first of them.
    return not (source.since and first + timedelta(days=32) <= source.since)


def _parquet(paths: Sequence[Path], columns: Sequence[str], source: Source, faults: Faults) -> pl.DataFrame:
    """Read the files of a month; in the order of time, so that the whole need not be sorted."""
    frames = []
    for path in paths:
        try:
            report = faults.reporter(path, archive.ROW_LEFT_OUT)
            frames.append(archive.read(path, columns, report, condition(source)))
        except FileError as error:
            faults.add(error.path, 0, error.cause)
    return _by_time(pl.concat(frames)) if frames else pl.DataFrame()


def _without_duplicates(frame: pl.DataFrame, files: Sequence[Path], faults: Faults) -> pl.DataFrame:
    """Return each measurement once; the others of each file are counted, the first named.

    :param frame: rows with ``file``, an index into ``files`` or null, and ``line``, its number there.
    """
    hashes = frame.select(MEASUREMENT).hash_rows()
    again = ~hashes.is_first_distinct()
    if not again.any():
        return frame
    # Hashes may collide; the rows that share one are few, and are compared themselves.
    shared = frame.with_row_index("row").filter(hashes.is_in(hashes.filter(again).unique().implode()))
    repeated = shared.filter(~pl.struct(MEASUREMENT).is_first_distinct())
    counted = repeated.drop_nulls("file").group_by("file").agg(pl.col("line").min(), pl.len()).sort("file")
    for file, line, count in counted.iter_rows():
        what = "this record is" if count == 1 else f"{count} records from here on are"
        faults.add(
            files[file], line, f"{what} already in this file or in another; each is used once: delete the duplicates"
        )
    rows = frame.with_row_index("row").join(repeated.select("row"), on="row", how="anti", maintain_order="left")
    return rows.drop("row")


def _by_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows in the order of ``time``; those of one time keep theirs."""
    return frame if frame["time"].is_sorted() else frame.sort("time", maintain_order=True)
