# SPDX-License-Identifier: BSD-3-Clause
"""Read blocks of a perflog into tables of cases and of values, and join these.

Polars parses the lines of values of a block at once, or refuses them; refused ones are read one by one, which
finds the lines to blame. The lines of cases are few, and are read one by one.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import count
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from fabric_checks.records import jsonlines, lines, series, validation, writing
from fabric_checks.records.jsonlines import Block
from fabric_checks.records.record import MEASUREMENT, OF_CASE, OF_METRIC, OF_VALUE
from fabric_checks.records.table import COLUMNS, NESTED, REPEATED

#: Polars' parser calls itself for each level of nesting, and ends the process at some 3000. A shorter line
#: has less.
_HARMLESS_B = 4000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
#: What :class:`Declarations` have a row for.
_OF_A_METRIC = ["declared", "metric"]
#: Is called with the numbers of a file and of a line, and a fault.
FileReport = Callable[[int, int, str], None]
#: What is read of values in any case.
_VALUE = ("case", "metric", "value", "unit")


class Declarations:
    """The declared facts of metrics, each text of a case once, by number. Threads may share it."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._next = count()

    def number(self, text: bytes) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(text, next(self._next))

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """Return a row for each number and metric, with some of its facts."""
        names = [name for name in OF_METRIC if name in columns]
        rows: list[list[Any]] = []
        for text, number in self._numbers.items():
            for metric, facts in lines.declared(text).items():
                rows.append([number, metric, *(_cell(name, facts[name]) for name in names)])
        schema = {"declared": pl.UInt32(), "metric": pl.String(), **{name: COLUMNS[name] for name in names}}
        return compact(pl.DataFrame(rows, schema=schema, orient="row"))


@dataclass(frozen=True)
class Part:
    """What a block has, repeated text in categories.

    :param values: the fields of values, and ``line``, the number within the block, from 1.
    :param cases: the fields of cases, ``declared``, the number of :class:`Declarations`, and ``line``.
    :param lines: how many lines it has; :param causes: number and cause of each bad one.
    """

    values: pl.DataFrame
    cases: pl.DataFrame
    lines: int
    causes: list[tuple[int, str]]

    def behind(self, lines: int) -> Part:
        """Return it with the numbers that its lines have behind some others."""
        values, cases = (table.with_columns(pl.col("line") + lines) for table in (self.values, self.cases))
        return Part(values, cases, self.lines, self.causes)


def part_of(block: Block, columns: Sequence[str], declarations: Declarations) -> Part:
    """Read a block.

    :param columns: the fields that are wanted.
    """
    stops = (
        block.ends if block.data.endswith(b"\n") or not block.data else np.append(block.ends, len(block.data))
    )
    starts = np.append(0, stops[:-1] + 1)[: len(stops)]
    whole = np.frombuffer(block.data, np.uint8)
    # The line of a case begins with {"format", that of a value with {"case".
    is_case = whole[np.minimum(starts + 2, max(len(whole) - 1, 0))] == ord("f")
    is_value = ~is_case & (stops > starts)
    of_cases = [(int(at) + 1, block.data[starts[at] : stops[at]]) for at in np.flatnonzero(is_case)]
    numbers = np.flatnonzero(is_value) + 1
    schema = {name: COLUMNS[name] for name in OF_VALUE if name in (*_VALUE, *columns)}
    causes: list[tuple[int, str]] = []
    longest = int((stops - starts)[is_value].max(initial=0))
    values = None
    if longest <= _HARMLESS_B:
        values = _parsed(_without(block.data, starts, stops, is_case), numbers, schema)
    if values is None:
        others = [(int(at) + 1, block.data[starts[at] : stops[at]]) for at in np.flatnonzero(is_value)]
        values = _one_by_one(others, schema, of_cases, block, causes)
    return Part(values, _cases(of_cases, columns, declarations, block, causes), len(block.ends), causes)


def _without(
    data: bytes, starts: npt.NDArray[np.intp], stops: npt.NDArray[np.intp], is_case: npt.NDArray[np.bool_]
) -> bytes:
    """Return the lines that are of no case."""
    edges = np.flatnonzero(is_case)
    begins = [0, *(int(stop) + 1 for stop in stops[edges])]
    ends = [*map(int, starts[edges]), len(data)]
    return b"".join(data[begin:end] for begin, end in zip(begins, ends, strict=True))


def _parsed(
    data: bytes, numbers: npt.NDArray[np.intp], schema: dict[str, pl.DataType]
) -> pl.DataFrame | None:
    """Return lines of values as a table; None if one of them is none."""
    if not data.strip():
        return _of_lines(pl.DataFrame(schema=schema), [])
    with contextlib.suppress(pl.exceptions.PolarsError):
        frame = pl.read_ndjson(io.BytesIO(data), schema=schema)
        if frame.height == len(numbers):
            frame = _of_lines(frame, numbers)
            return frame if validation.is_sound(frame, validation.OF_VALUE) else None
    return None


def _one_by_one(
    texts: Iterable[tuple[int, bytes]],
    schema: dict[str, pl.DataType],
    cases: list[tuple[int, bytes]],
    block: Block,
    causes: list[tuple[int, str]],
) -> pl.DataFrame:
    """Return lines of values as a table.

    :param cases: gets those that are of cases; :param causes: those that are neither.
    """
    numbers: list[int] = []
    rows: list[tuple[Any, ...]] = []
    for number, line in texts:
        if not line.strip():
            continue
        try:
            record = jsonlines.parsed(line)
            if not lines.is_value(record):
                cases.append((number, msgspec.json.encode(record)))
                continue
            value = lines.value_line(record)
        except ValueError as error:
            causes.append((number, _cause(block, number, error)))
            continue
        rows.append(tuple(getattr(value, name) for name in schema))
        numbers.append(number)
    return _of_lines(pl.DataFrame(rows, schema=schema, orient="row"), numbers)


def _of_lines(frame: pl.DataFrame, numbers: Sequence[int] | npt.NDArray[np.intp]) -> pl.DataFrame:
    if "result" in frame.columns:
        frame = frame.with_columns(pl.col("result").fill_null(writing.PASSED))
    return compact(frame.with_columns(pl.Series("line", numbers, dtype=pl.Int64)))


def _cases(
    texts: Iterable[tuple[int, bytes]],
    columns: Sequence[str],
    declarations: Declarations,
    block: Block,
    causes: list[tuple[int, str]],
) -> pl.DataFrame:
    """Return lines of cases as a table."""
    wanted = frozenset(columns) & lines.ALL
    names = [name for name in OF_CASE if name in (*wanted, "case", "time")]
    rows: list[list[Any]] = []
    for number, line in texts:
        try:
            case = lines.case_line(line, wanted)
        except ValueError as error:
            causes.append((number, _cause(block, number, error)))
            continue
        cells = (_cell(name, getattr(case, name)) for name in names)
        rows.append([*cells, declarations.number(case.metrics), number])
    schema = {name: COLUMNS[name] for name in names} | {
        "time": pl.Int64(),
        "declared": pl.UInt32(),
        "line": pl.Int64(),
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return compact(frame.with_columns(pl.col("time").cast(pl.Datetime("us")).dt.replace_time_zone("UTC")))


def _cause(block: Block, number: int, error: ValueError) -> str:
    return f"{jsonlines.CUT if number > len(block.ends) else ''}{error}"


def _cell(name: str, value: Any) -> Any:
    """Return a field as its column has it; a time in microseconds."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if name in NESTED:
        return json.dumps(value, ensure_ascii=False)
    return str(value) if name == "jobid" else value


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with repeated text in categories."""
    return frame.with_columns(pl.col(name).cast(pl.Categorical) for name in REPEATED if name in frame.columns)


@dataclass(frozen=True)
class Perflog:
    """The cases and the values of files, each once.

    A case that failed before it had values, whose line declares no metrics, has a row in ``values`` whose
    metric and value are null.

    :param values: also ``file``, the number of the file, and ``line``; :param cases: as :class:`Part`.
    """

    values: pl.DataFrame
    cases: pl.DataFrame
    declarations: Declarations

    def filtered(self, conditions: Mapping[str, Sequence[pl.Expr]]) -> Perflog:
        """Return what fulfils some conditions, given by the field that they are about."""
        values, cases = self.values, self.cases
        for name, rules in conditions.items():
            if name in OF_METRIC:
                known = values.join(
                    cases.select("case", "declared"), on="case", how="left", maintain_order="left"
                )
                facts = self.declarations.frame([name])
                known = known.join(facts, on=["declared", "metric"], how="left", maintain_order="left")
                values = known.filter(*rules).select(values.columns)
            elif name in OF_VALUE:
                values = values.filter(*rules)
            else:
                cases = cases.filter(*rules)
        if cases.height < self.cases.height:
            values = values.join(cases, on="case", how="semi", maintain_order="left")
        return Perflog(values, cases, self.declarations)

    def slices(self, columns: Sequence[str], most: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield records with some columns, some rows at a time, in their order; also ``file`` and
        ``line``."""
        cases = self.cases.drop("file", "line")
        facts = self.declarations.frame(columns)
        for part in self.values.iter_slices(most or max(self.values.height, 1)):
            rows = part.join(cases, on="case", how="left", maintain_order="left")
            if len(facts.columns) > len(_OF_A_METRIC):
                rows = rows.join(facts, on=_OF_A_METRIC, how="left", maintain_order="left")
            yield rows.select(*columns, "file", "line")

    def aggregated(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return one row for records that differ in time and value only; see :func:`series.aggregated`.

        Values are grouped by numbers that stand for all that their cases have: of millions, little more is
        held.
        """
        shared = [name for name in OF_CASE if name in columns and name != "time"]
        own = [name for name in OF_VALUE if name in columns and name not in ("case", "value")]
        kinds = self.cases.select(shared).unique(maintain_order=True).with_row_index("kind")
        cases = self.cases.join(kinds, on=shared, nulls_equal=True).select("case", "time", "kind", "declared")
        rows = (
            self.values.select("case", "value", *own)
            .join(cases, on="case", maintain_order="left")
            .drop("case")
        )
        found = series.folded(series.by_time(rows), ["kind", "declared", *own])
        found = found.join(kinds, on="kind", how="left", maintain_order="left")
        facts = self.declarations.frame(columns)
        found = found.join(facts, on=_OF_A_METRIC, how="left", maintain_order="left")
        kept = [name for name in columns if name not in ("time", "value")]
        return found.select(*kept, *series.FOLDED).with_columns(cs.categorical().cast(pl.String))


def joined(
    parts: Sequence[tuple[int, Part]], columns: Sequence[str], declarations: Declarations, report: FileReport
) -> Perflog:
    """Join the parts of files.

    :param parts: each with the number of its file; the numbers of its lines are those of the file.
    :param columns: the fields that were read.
    :param report: gets number of a file and line, and a cause: of values without a case, and of what is there
        twice.
    """
    parts = parts or [(0, part_of(Block(b""), columns, declarations))]
    values, cases = (
        pl.concat([table.with_columns(pl.lit(number, pl.UInt16).alias("file")) for number, table in of])
        for of in ([(at, part.values) for at, part in parts], [(at, part.cases) for at, part in parts])
    )
    lost = values.join(cases, on=["case", "file"], how="anti")
    if lost.height:
        for file, line, many in counted(lost):
            report(file, line, validation.orphans(many))
        values = values.join(cases, on=["case", "file"], how="semi", maintain_order="left")
    key = ["file", "line"]
    again = pl.concat([repeated(values, MEASUREMENT).select(key), repeated(cases, ("case",)).select(key)])
    if again.height:
        for file, line, many in counted(again):
            report(file, line, validation.duplicates(many))
        values, cases = (
            table.join(again, on=key, how="anti", maintain_order="left") for table in (values, cases)
        )
    without = cases.filter(pl.col("declared") == declarations.number(lines.NOTHING))
    empty = without.join(values, on="case", how="anti").select("case", "file", "line")
    if empty.height:
        values = pl.concat([values, empty], how="diagonal").sort("file", "line")
    return Perflog(values, cases, declarations)


def counted(rows: pl.DataFrame) -> list[tuple[int, int, int]]:
    """Return of each file the number of the first of some lines, and how many they are."""
    return rows.group_by("file").agg(pl.col("line").min(), pl.len()).sort("file").rows()


def repeated(frame: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return the rows that agree with an earlier one in all columns of a key."""
    hashes = frame.select(key).hash_rows()
    again = ~hashes.is_first_distinct()
    if not again.any():
        return frame.clear()
    # Hashes may collide; the rows that share one are few, and are compared themselves.
    shared = frame.filter(hashes.is_in(hashes.filter(again).unique().implode()))
    return shared.filter(~pl.struct(key).is_first_distinct())
