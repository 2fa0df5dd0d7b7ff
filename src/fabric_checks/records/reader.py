# SPDX-License-Identifier: BSD-3-Clause
"""Read sets of results into tables: each valid record once, in the order of time."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.core.text import one_line
from fabric_checks.records import archive, join, jsonlines, lines, validation
from fabric_checks.records.join import Declarations, Part, Perflog
from fabric_checks.records.record import FIELDS, MEASUREMENT
from fabric_checks.records.series import aggregated, by_time
from fabric_checks.records.sources import (
    LEFT_OUT,
    Faults,
    Files,
    Source,
    condition,
    conditions,
    files_of,
    limits_text,
)
from fabric_checks.records.table import COLUMNS, REPEATED

#: One reads while the others are parsed; more would not be faster, as Polars itself parses a block on several
#: cores.
_THREADS = min(4, (os.cpu_count() or 1) + 1)

#: How many records a part has at most.
_ROWS = 100_000


@dataclass(frozen=True)
class Loaded:
    """The records of sets of results.

    :param frame: the valid records: a column ``side``, the label of the source, and the columns asked for, of
        the types of :data:`fabric_checks.records.table.COLUMNS`. A case that failed before it had values has
        a record whose ``metric`` and ``value`` are null. In the order of ``time`` within a side.
    :param faults: a line for each record that was left out and each file that could not be read, with file,
        line, cause and remedy. A command prints them and exits with a status other than 0.
    """

    frame: pl.DataFrame
    faults: tuple[str, ...] = ()


def load(sources: Sequence[Source], columns: Collection[str] = FIELDS, *, compact: bool = False) -> Loaded:
    """Read sets of results.

    A record that occurs twice is used once. A column that is not asked for is not checked, except for those
    that make a record: :data:`fabric_checks.records.validation.ALWAYS`.

    :param columns: the fields that are wanted; few are read faster.
    :param compact: whether :data:`fabric_checks.records.table.REPEATED` are ``pl.Categorical``, for millions
        of records. They compare, group and join as text does; text functions need a cast to ``pl.String``.
    :raises RecordError: if a source does not exist or has no record at all.
    """
    wanted = _in_order(columns)
    frames: list[pl.DataFrame] = []
    faults: list[str] = []
    for source in sources:
        noted = Faults()
        frame = by_time(pl.concat(_records(source, columns, noted)))
        frames.append(_side(frame, source.label, wanted, compact=compact))
        faults += noted.lines()
    return Loaded(pl.concat(frames), tuple(dict.fromkeys(faults)))


def load_aggregated(
    sources: Sequence[Source], columns: Collection[str], faults: list[str]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Read sets of results as :func:`load` does, but an archive a month at a time: a hundred million records.

    :param columns: the fields that are wanted: ``time``, ``value``, and at least one more.
    :param faults: gets lines as those of :class:`Loaded`.
    :returns: label and records of one part after the other, as
        :func:`fabric_checks.records.series.aggregated` returns them. The parts of a set of results need not
            be in the order of time.
    :raises RecordError: as :func:`load`.
    """
    wanted = _in_order(columns)
    for source in sources:
        noted = Faults()
        for frame in _folded(source, wanted, noted):
            yield source.label, frame
        faults += [line for line in noted.lines() if line not in faults]


def parts(files: Files, faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the valid records of files with all fields, a part at a time; repeated text is in categories.

    Records that occur twice are not removed.

    :param faults: gets the records and files that are left out.
    """
    everything = Source("", Path())
    for path in files.json_lines:
        yield from (
            frame.select(FIELDS)
            for frame in _perflog([path], FIELDS, everything, faults).slices(FIELDS, _ROWS)
        )
    for path in files.parquet:
        frame = _parquet([path], FIELDS, everything, faults)
        if frame.height:
            yield frame.select(FIELDS)


def of_session(results: Path, session: str, earliest_s: float, faults: Faults) -> list[dict[str, Any]]:
    """Read the records of one session from the perflogs in a folder of results, with all their fields.

    :param earliest_s: files that were not written to since then, in seconds since the epoch, are skipped.
    :param faults: gets the lines and files that are left out. A line that is no record may be of another
        session; valid lines of other sessions are not parsed, for speed.
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
                found += lines.records_of(path, faults.reporter(path), session)
        except OSError as error:
            faults.add(path, 0, f"{error.strerror}; the file is left out")
    return found


def _in_order(columns: Collection[str]) -> list[str]:
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}")
    return [name for name in FIELDS if name in columns]


def _records(
    source: Source, columns: Collection[str], faults: Faults, files: Files | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the records of a source: an archive month by month, anything else as a whole.

    :param columns: those that are wanted; the frames may have more.
    :returns: frames in the order of time, with repeated text in categories; at least one, and none is empty.
    :raises RecordError: if the source does not exist or has no records.
    """
    files = files or _files(source, faults)
    # The records of an archive were checked, and freed of duplicates, when it was written.
    always = validation.ALWAYS if files.json_lines else ()
    needed = [name for name in FIELDS if name in {"time", *columns, *source.where, *always}]
    parts: Iterable[pl.DataFrame]
    parts = (_parquet(month, needed, source, faults) for month in _months(files.parquet, source))
    if files.json_lines:
        of_lines = _perflog(files.json_lines, needed, source, faults).slices(needed)
        parts = [_merged([*of_lines, *parts], files.json_lines, faults)]
    nothing = True
    for part in parts:
        if part.height:
            nothing = False
            yield part
    if nothing:
        raise RecordError(_nothing(source, list(faults.lines())))


def _folded(source: Source, columns: Sequence[str], faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the records of a source as :func:`series.aggregated` returns them."""
    files = _files(source, faults)
    if files.parquet or not files.json_lines:
        yield from (aggregated(frame.select(columns)) for frame in _records(source, columns, faults, files))
        return
    needed = [name for name in FIELDS if name in {*columns, *source.where, *validation.ALWAYS}]
    found = _perflog(files.json_lines, needed, source, faults)
    if not found.values.height:
        raise RecordError(_nothing(source, list(faults.lines())))
    yield found.aggregated(columns)


def _files(source: Source, faults: Faults) -> Files:
    if not source.path.exists():
        raise RecordError(f"{source.path}: there is no such file or folder")
    return files_of(source.path, faults)


def _merged(frames: Iterable[pl.DataFrame], logs: Sequence[Path], faults: Faults) -> pl.DataFrame:
    """Return the records of perflogs and of an archive, each once, in the order of time.

    :param logs: the files of JSON lines, which the column ``file`` counts.
    """
    frame = pl.concat([frame for frame in frames if frame.height] or [pl.DataFrame()], how="diagonal")
    if not frame.height:
        return frame
    rows = frame.with_row_index("row")
    again = join.repeated(rows, MEASUREMENT)
    for file, line, count in join.counted(again.drop_nulls("file")):
        faults.add(logs[file], line, validation.duplicates(count))
    return by_time(rows.join(again, on="row", how="anti", maintain_order="left").drop("row"))


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


def _perflog(paths: Sequence[Path], columns: Sequence[str], source: Source, faults: Faults) -> Perflog:
    """Read files of JSON lines, several blocks at once, and join them."""
    declarations = Declarations()
    waiting: deque[tuple[int, Future[Part]]] = deque()
    parts: list[tuple[int, Part]] = []
    before = [0] * len(paths)

    def finish() -> None:
        number, future = waiting.popleft()
        try:
            part = future.result()
        except OSError as error:
            faults.add(
                paths[number], 0, f"{error.strerror}; the file is left out from line {before[number] + 1} on"
            )
            return
        for line, cause in sorted(part.causes):
            faults.add(paths[number], before[number] + line, cause + LEFT_OUT)
        parts.append((number, part.behind(before[number])))
        before[number] += part.lines

    with ThreadPoolExecutor(_THREADS) as pool:
        for number, path in enumerate(paths):
            try:
                for span in jsonlines.spans(path):
                    waiting.append((number, pool.submit(_part, path, span, columns, declarations)))
                    if len(waiting) > _THREADS + 1:
                        finish()
            except OSError as error:
                faults.add(path, 0, f"{error.strerror}; the file is left out")
        while waiting:
            finish()
    found = join.joined(
        parts, columns, declarations, lambda file, line, cause: faults.add(paths[file], line, cause)
    )
    return found.filtered(conditions(source))


def _part(path: Path, span: tuple[int, int], columns: Sequence[str], declarations: Declarations) -> Part:
    too_long: list[tuple[int, str]] = []
    block = jsonlines.read(path, span, lambda line, cause: too_long.append((line, cause)))
    part = join.part_of(block, columns, declarations)
    part.causes.extend(too_long)
    return part


def _months(files: Sequence[Path], source: Source) -> list[list[Path]]:
    """Return the files of an archive that may have records of a source, by their folders; a list for each
    month."""
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
    return by_time(pl.concat(frames)) if frames else pl.DataFrame()
