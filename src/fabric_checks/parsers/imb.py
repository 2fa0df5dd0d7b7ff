# SPDX-License-Identifier: BSD-3-Clause
"""Output of the Intel MPI Benchmarks, 2018 to 2021: IMB-MPI1, IMB-NBC and IMB-RMA.

Each benchmark prints a block for each number of processes, headed by "# Benchmarking X" and "# #processes =
N", then a line of column titles and a row for each message size; a program with ``-DCHECK`` adds a column
``defects``. A sample that outlasts ``-time`` prints ``time-out.`` instead of its values, others
``out-of-mem.`` or ``int-overflow``. Most benchmarks of IMB-RMA print two such blocks: each operation
completed on its own ("MODE: NON-AGGREGATE"), and many completed at once ("MODE: AGGREGATE"). "All processes
entering MPI_Finalize" ends a whole output.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import data, plain, table
from fabric_checks.parsers.table import Row, require, require_intact, rounded

_HEADER = re.compile(
    r"(?m)^#\s+Intel\s*\(R\) MPI Benchmarks ([^,\n]+), (\S+) part( \(GPU\))?"
)
#: The title of a block, and what is above its columns: the number of processes, and the mode.
_BLOCK = re.compile(
    r"(?m)^# Benchmarking (\S+).*\n(?:(?!# Benchmarking| *#(?:bytes|repetitions)).*\n){0,8}",
)
_LAST_LINE = "# All processes entering MPI_Finalize"
_DATA = data.load("imb.yaml")
#: The parts by program, and the collectives of IMB-MPI1.
PARTS, COLLECTIVES = _DATA["parts"], _DATA["collectives"]
NON_AGGREGATE, AGGREGATE = "NON-AGGREGATE", "AGGREGATE"
#: The titles of a table by benchmark, in small letters.
_TITLES = {
    name.lower(): titles for titles, names in _DATA["titles"].items() for name in names
}
#: What replaces the values of a row, and why.
_WHY = _DATA["gave_up"]
_GAVE_UP = re.compile(rf"(\S+) .*({'|'.join(map(re.escape, _WHY))})")
_KINDS = {"repetitions": table.whole, "message_rate_per_s": table.whole}


@dataclass(frozen=True)
class ImbOutput:
    """One block of an IMB benchmark.

    :param version: the version of IMB, such as ``2021.11``.
    :param processes: the number of processes that took part.
    :param columns: names of the columns after the size: ``time_us`` (the average over the
        processes where there are three), ``min_time_us``, ``max_time_us``, ``bandwidth_MBps`` (as printed, or
        from the bytes and the time of the slowest process where that has more digits),
        ``message_rate_per_s``; of IMB-NBC ``overall_us`` (communication and work), ``communication_us``,
        ``compute_us`` and ``overlap_percent``; of a program with ``-DCHECK`` also ``defects``.
    :param rows: one for each message size; the barriers' only row has size 0.
    """

    version: str
    processes: int
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def parse(
    text: str,
    benchmark: str,
    sizes_B: Sequence[int],
    processes: int,
    *,
    program: str = "IMB-MPI1",
    mode: str | None = None,
) -> ImbOutput:
    """Read the block of one IMB benchmark for one number of processes.

    :param text: the standard output of the program.
    :param benchmark: the name that IMB uses, such as ``PingPong``.
    :param sizes_B: the message sizes that were asked for, in bytes, in order; ``[0]`` for the barrier.
    :param processes: the number of processes that must have taken part.
    :param program: the name of the program, a key of :data:`PARTS`; some benchmarks are in two of them.
    :param mode: :data:`AGGREGATE` or :data:`NON_AGGREGATE` for benchmarks of IMB-RMA that have both.
    :raises OutputError: if the output is not whole, is another program's, timed out, has defects, or holds
        values that are not positive.
    """
    text = plain.cleaned(text)
    version = _version(text, program)
    titles = _titles(program, benchmark)
    rows = _read_rows(text, _find_block(text, benchmark, processes, mode), titles)
    table.require_sizes(rows, sizes_B)
    table.only(
        re.findall(rf"(?m)^{_LAST_LINE} *$", text),
        f"last line {_LAST_LINE!r}",
        "the program did not end normally",
    )
    _require_positive(
        rows, may_be_nothing=program in ("IMB-NBC", "IMB-RMA") and "#bytes" in titles
    )
    for row in rows:
        _require_agreement(row, processes)
    names = tuple(rows[0].values)
    moved = _DATA["messages"].get(benchmark)
    if moved and "message_rate_per_s" not in names:
        rows = [_with_exact_bandwidth(row, moved * row.size_B) for row in rows]
    return ImbOutput(version, processes, names, tuple(rows))


def _require_positive(rows: Sequence[Row], *, may_be_nothing: bool) -> None:
    """Raise :class:`OutputError` unless times and rates are above zero.

    :param may_be_nothing: whether an operation on no bytes may do nothing, and a loop of them take no time
        that two decimals show. In IMB-MPI1 collectives read the clock before and after each, which alone
        takes longer; a barrier takes time, too.
    """
    names = list(rows[0].values)
    rates = ("bandwidth_MBps", "message_rate_per_s")
    # Where there is a time, small rates may round to nothing.
    unasked = ("overlap_percent", "defects", *(rates if "time_us" in names else ()))
    for name in names:
        allowed = name in rates or may_be_nothing
        if name not in unasked:
            table.require_positive(rows, name, from_size_B=int(allowed))


def _require_agreement(row: Row, processes: int) -> None:
    """Raise :class:`OutputError` if a row has wrong data, or its values contradict each other."""
    values = row.values
    defects = values.get("defects", 0)
    require(
        not defects,
        f"IMB's own check (-DCHECK) found wrong data at {row.size_B} B: defects {defects:g}",
        row.line,
    )
    if "min_time_us" in values:
        names = ("min_time_us", "time_us", "max_time_us")
        spans = [rounded(values[name]) for name in names]
        table.require_mean(spans, processes, f"{processes} times", row.line)
    if "message_rate_per_s" in values:
        table.require_rate(row, 0.5 + 1e-6)
    if "overlap_percent" in values:
        overall, *alone = (
            values[f"{name}_us"] for name in ("overall", "communication", "compute")
        )
        table.require_overlap(row, overall, min(alone), max(alone))


def _titles(program: str, benchmark: str) -> list[str]:
    """Return the column titles of a benchmark; see ``IMB_output.c`` of IMB."""
    name = benchmark.lower()
    titles = _TITLES.get(name, _DATA["others"])
    if program == "IMB-NBC":
        kind = "pure" if name.endswith("_pure") else "overlap"
        titles = _DATA["non_blocking"][kind]
    return [*([] if "barrier" in name else ["#bytes"]), *titles.split()]


def _version(text: str, program: str) -> str:
    """Return the version that the first lines state; raise :class:`OutputError` if they are of another
    program."""
    why = "the program did not start, or this is another program"
    heads = list(dict.fromkeys(_HEADER.findall(text)))
    version, *part = table.only(heads, "line '# Intel(R) MPI Benchmarks'", why)
    found = "".join(part)
    require(
        found == PARTS[program],
        f"expected the output of {program}, found the part {quoted(found)}",
    )
    return str(version)


def _with_exact_bandwidth(row: Row, moved_B: int) -> Row:
    """Return the row with bytes over time for the printed bandwidth where that is more exact; the two must
    agree.

    Both have two decimals, so the larger number has more digits. IMB counts what one process sends and
    receives (PingPong and PingPing 1, Sendrecv 2, Exchange 4 messages) over the time of the slowest process,
    in units of 10^6 bytes/s.
    """
    time_us = row.values.get("max_time_us", row.values["time_us"])
    printed = row.values["bandwidth_MBps"]
    require_intact(
        (rounded(moved_B, 0) / rounded(time_us)).meets(rounded(printed)),
        f"{printed:g} MB/s do not fit {moved_B} B in {time_us:g} us at {row.size_B} B",
        row.line,
    )
    # A time of 0.00 is that of an operation on no bytes.
    exact = printed if printed >= time_us else moved_B / time_us
    return Row(row.line, row.size_B, row.values | {"bandwidth_MBps": exact})


def _find_block(text: str, benchmark: str, processes: int, mode: str | None) -> int:
    """Return where the only block of a benchmark on that many processes, in that mode, has its column
    titles."""
    blocks = defaultdict[str, list[int]](list)
    for block in _BLOCK.finditer(text):
        count = re.search(r"(?m)^# +#processes = ([0-9]{1,9})\b", block[0])
        of_mode = re.search(r"(?m)^# +MODE: (\S+)", block[0])
        name = _named(block[1], count and count[1], of_mode and of_mode[1])
        blocks[name].append(block.end())
    wanted = _named(benchmark, str(processes), mode)
    fitting = [
        end
        for name, ends in blocks.items()
        for end in ends
        if name.lower() == wanted.lower()
    ]
    has = ", ".join(map(quoted, blocks))
    require(fitting or not blocks, f"no block of {wanted}; the output has {has}")
    refused = re.search(r"(?m)^# !! (Benchmark.*?)[ !]*$", text)
    if refused and not blocks:
        line = text.count("\n", 0, refused.start()) + 1
        raise OutputError(f"IMB refused: {quoted(refused[1])}", line)
    require(
        blocks, f"no block '# Benchmarking {benchmark}': the program ended before it"
    )
    require(
        len(fitting) == 1, f"{len(fitting)} blocks of {wanted} where one was expected"
    )
    return fitting[0]


def _named(benchmark: str, processes: str | None, mode: str | None) -> str:
    return f"{benchmark} on {processes} processes" + (f", mode {mode}" if mode else "")


def _read_rows(text: str, begin: int, wanted: Sequence[str]) -> list[Row]:
    """Return the rows of a block: its column titles, and the lines up to a blank one."""
    first = text.count("\n", 0, begin) + 1
    title, *lines = text[begin:].split("\n")
    titles = title.split()
    own = quoted(" ".join(wanted))
    require(
        titles in (list(wanted), [*wanted, "defects"]),
        f"the column titles {quoted(title)} are not this benchmark's, which are {own}",
        first,
    )
    columns = [_DATA["columns"][name] for name in titles]
    rows: list[Row] = []
    for number, line in enumerate(itertools.takewhile(str.strip, lines), first + 1):
        if gave_up := _GAVE_UP.search(line):
            size, why = gave_up.groups()
            raise OutputError(
                f"IMB gave up at {quoted(size)} B ({why}): {_WHY[why]}", number
            )
        if line.startswith("#"):
            break
        row = table.row_of(line, number, columns, _KINDS)
        require(row.values.pop("repetitions"), "nothing was repeated", number)
        rows.append(row)
    return rows
