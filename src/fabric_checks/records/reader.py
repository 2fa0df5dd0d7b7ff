# SPDX-License-Identifier: BSD-3-Clause
"""Read sets of results into tables: each valid record once, in the order of time."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.errors import RecordError
from fabric_checks.core.text import one_line
from fabric_checks.records import jsonlines, lines
from fabric_checks.records.record import FIELDS
from fabric_checks.records.series import aggregated, by_time
from fabric_checks.records.sources import Faults, Source, condition, files_of
from fabric_checks.records.table import COLUMNS, Report, record_of

#: The bytes of lines that are turned into a table at once.
BATCH_B = 2**23
_ALL = frozenset(FIELDS)
#: What comes before the cause of a line without its end.
_CUT = "half-written, as after a crash: "


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


def load(
    sources: Sequence[Source],
    columns: Collection[str] = FIELDS,
    *,
    compact: bool = False,
) -> Loaded:
    """Read sets of results.

    A record that occurs twice is used once. A column that is not asked for is not checked, except for those
    that make a record: :data:`fabric_checks.records.validation.REQUIRED`.

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
        frame = by_time(pl.concat(records(source, _in_order({"time", *wanted}), noted)))
        side = pl.lit(source.label, pl.Categorical()).alias("side")
        frame = frame.select(side, *wanted)
        frames.append(frame if compact else frame.cast({pl.Categorical: pl.String}))
        faults += noted.lines()
    return Loaded(pl.concat(frames), tuple(dict.fromkeys(faults)))


def load_aggregated(
    sources: Sequence[Source], columns: Collection[str], faults: list[str]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Read sets of results as :func:`load` does, but some at a time: a hundred million records.

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
        for frame in records(source, wanted, noted):
            yield source.label, aggregated(by_time(frame))
        faults += [line for line in noted.lines() if line not in faults]


def records(
    source: Source, columns: Collection[str], faults: Faults
) -> Iterator[pl.DataFrame]:
    """Yield the records of a source, each once, some at a time.

    :param columns: those that are wanted.
    :param faults: gets the records and files that are left out.
    :returns: frames with repeated text in categories; at least one, and none is empty.
    :raises RecordError: if the source does not exist or has no records.
    """
    if not source.path.exists():
        raise RecordError(
            f"{source.path}: there is no such file or folder; name other results, or start a run with ci/run"
        )
    needed = frozenset({"time", "session", *columns, *source.where})
    session, rule = source.where.get("session", ""), condition(source)
    seen: set[str] = set()
    nothing = True
    for path in files_of(source.path, faults):
        with _left_out(path, faults):
            for frame in _batches(path, needed, faults.reporter(path), seen, session):
                chosen = _filtered(frame, rule)
                if chosen.height:
                    nothing = False
                    yield chosen.select(columns)
    if nothing:
        raise RecordError(_nothing(source, list(faults.lines())))


def of_session(results: Path, session: str, faults: Faults) -> list[dict[str, Any]]:
    """Read the records of one session and of its repeats, with all their fields; none if it has none.

    :param faults: gets the lines and files that are left out. A line that is no record may be of another
        session.
    """
    source = Source("", results, where={"session": session}, repeats=True)
    try:
        frames = list(records(source, FIELDS, faults))
    except RecordError:
        return []  # no case has come to its records, which the session's report names better
    return [record_of(row) for frame in frames for row in frame.iter_rows(named=True)]


def records_of(path: Path, report: Report) -> Iterator[dict[str, Any]]:
    """Read the records of one perflog.

    :param report: gets number and cause of each line that is none.
    :raises OSError: if the file cannot be read.
    """
    for frame in _batches(path, _ALL, report, set(), ""):
        yield from map(record_of, frame.iter_rows(named=True))


def _in_order(columns: Collection[str]) -> list[str]:
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}")
    return [name for name in FIELDS if name in columns]


def _nothing(source: Source, faults: Sequence[str]) -> str:
    is_limited = source.where or source.since or source.until
    fields = ", ".join(f"{name}={value}" for name, value in source.where.items())
    which = " within its limits" if is_limited else ""
    which += f" ({fields})" if fields else ""
    count = "1 fault: " if len(faults) == 1 else f"{len(faults)} faults, the first: "
    cause = f"; {count}{faults[0]}" if faults else ""
    if not faults:
        others = f"`fabric-checks show {source.path} --list` lists what is there"
        cause = f"; {others if is_limited else 'name other records, or start a run with ci/run'}"
    return one_line(f"{source.path}: no sound record{which}{cause}")


def _filtered(frame: pl.DataFrame, rule: pl.Expr | None) -> pl.DataFrame:
    return frame if rule is None else frame.filter(rule)


@contextmanager
def _left_out(path: Path, faults: Faults) -> Iterator[None]:
    """Note a file that cannot be read, and go on without it."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        cause = getattr(error, "strerror", None) or error
        faults.add(path, 0, f"{cause}; the rest of the file is left out")


def _batches(
    path: Path, columns: frozenset[str], report: Report, seen: set[str], session: str
) -> Iterator[pl.DataFrame]:
    """Yield the records of a file of JSON lines, some lines at a time; see :func:`_cases`."""
    table, size_B = lines.Table(columns), 0
    for case, length_B in _cases(path, columns, report, seen, session):
        table.add(case)
        size_B += length_B
        if size_B > BATCH_B:
            yield table.frame()
            table, size_B = lines.Table(columns), 0
    yield table.frame()


def _cases(
    path: Path,
    columns: frozenset[str],
    report: Report,
    seen: set[str],
    session: str = "",
) -> Iterator[tuple[Any, int]]:
    """Yield the cases of a file of JSON lines, as :func:`.lines.case_of` returns them, and the bytes of each.

    :param seen: the names of cases that were read before; gets those of the file.
    :param session: one to which whole lines have to belong, as far as that shows without parsing them.
    """
    about = json.dumps(session, ensure_ascii=False)[1:-1].encode()
    for number, line in jsonlines.lines(path, report):
        if about not in line and _names_session(line):
            continue
        try:
            case = lines.case_of(line, columns)
            if case.case in seen:
                raise ValueError(
                    "this case is already in this file or in another; it is used once"
                )
        except ValueError as error:
            cut = "" if line.endswith(b"\n") else _CUT
            report(number, f"{cut}{error}")
            continue
        seen.add(case.case)
        yield case, len(line)


def _names_session(line: bytes) -> bool:
    """Tell whether a line is an object, as far as its ends show, and names a session."""
    return line.startswith(b"{") and line.endswith(b"}\n") and b'"session":' in line
