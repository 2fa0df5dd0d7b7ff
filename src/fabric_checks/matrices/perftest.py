# SPDX-License-Identifier: BSD-3-Clause
"""Output of perftest (``ib_write_bw``, ``ib_send_lat``, ...) of many pairs in one file.

perftest prints no names of hosts. So a line before each run has to name its ends in the direction of the
data, as ``node1 -> node2`` or ``node1:mlx5_0 -> node2:mlx5_0``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, End, PairTable, Row
from fabric_checks.matrices.shared_readers import of_sizes, parts
from fabric_checks.parsers.table import require

NAME = "perftest"
SIGNATURE = re.compile(r"(?m)^[ \t]*#bytes +(?:#sl +)?#iterations +")

_CANNOT_TELL = (
    "the device of the other end, where perftest prints one and no line names "
    "it: it is taken to be the same"
)
_END = r"([A-Za-z0-9](?:[\w.-]*\w)?)(?:[:/]([A-Za-z]\w*))?"
#: Such a line may have two words before the pair, such as "pair 3:", and marks around it.
_PAIR = re.compile(
    rf"(?m)^[ \t#=*\[-]*(?:\w+:?[ \t]+){{0,2}}?{_END}[ \t]*-+>[ \t]*{_END}[:\]]?(?:[ \t]+[#=*-]*)?$",
)
_ARROW = re.compile(r"(?m)^[^\w\n]*\w.*->.*$")
#: Stands before a row where the processor's clock varies, and says nothing of it.
_CLOCK = r"Conflicting CPU frequency values detected:.*\n"
#: Titles and rows of a bandwidth (peak, average, message rate) or of a latency (least, greatest, typical
#: time).
_RESULTS = re.compile(
    r"(?m)^[ \t]*(?P<titles>#bytes +(?:#sl +)?#iterations +(?:BW peak\[(?P<unit>Gb/sec|MB/sec|MiB/sec)\] +BW"
    r" average\[(?P=unit)\] +"
    r"MsgRate\[Mpps\]|t_min\[usec\] +t_max\[usec\] +t_typical\[usec\]).*)\n"
    rf"(?P<rows>(?:(?:{_CLOCK})*[ \t]*\d.*\n)+)",
)
_TEST = re.compile(
    r"(?m)^[ \t]*(?:RDMA_)?([A-Z][a-z]+)[\w ]*?( Bidirectional)? (?:BW|Latency) Test$",
)
_BANNER = re.compile(r"(?:BW|Latency) Test|Device[ \t]*:")
_DEVICE = re.compile(r"(?m)\bDevice[ \t]*: (\w+)$")
#: Titles, a row, or numbers of one whose header is damaged.
_VALUES = re.compile(r"(?m)#bytes|^[ \t]*[-+.\d]+(?:[ \t]+\d[\d.]*){3,}$")
#: perftest counts MB as 2^20 bytes, and calls them MiB in newer releases.
_RATES = {
    "Gb/sec": UNITS["Gb/s"][1],
    "MB/sec": UNITS["MiB/s"][1],
    "MiB/sec": UNITS["MiB/s"][1],
}


def parse(text: str) -> list[PairTable]:
    """Read the average bandwidth or the typical latency of each run, of which one side's output is given."""
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    silent = []
    for part, line in parts(
        text, [0, *(arrow.start() for arrow in _ARROW.finditer(text))]
    ):
        named, has_values = _PAIR.match(part), _VALUES.search(part) is not None
        if named and has_values:
            for test, row in _run(named, part[named.end() :], line):
                measured[test].append(row)
        elif named:
            silent.append(named[0].strip())
        else:
            first = quoted(part.partition("\n")[0])
            require(
                not _ARROW.match(part),
                f"{first} names no pair as 'node1:mlx5_0 -> node2:mlx5_0' does",
                line,
            )
            require(
                not has_values,
                "no line names the ends of the first run: print one before each, as `# node1 -> node2`",
            )
    failed = f"{quoted(names_text(silent), 200)}: named, but without a value, as if the run had failed"
    return of_sizes(
        NAME,
        measured,
        [_CANNOT_TELL, failed] if silent else [_CANNOT_TELL],
        both_ways=False,
    )


def _run(
    named: re.Match[str], part: str, line: int
) -> Iterator[tuple[tuple[str, str, int], Row]]:
    """Yield what a run measured, which follows a line that names its pair: test, metric and size, and the
    value."""
    found, device = _RESULTS.search(part), "".join(_DEVICE.findall(part))
    if found is None or not _is_one_run(part[: found.start()], part[found.end() :]):
        raise OutputError(
            "the results of this run are missing, cut off or mixed with those of another",
            line,
        )
    one, other = (End(named[at], named[at + 1] or device) for at in (1, 3))
    require(
        device in ("", one.device, other.device),
        f"neither end is named with the device {quoted(device)}, which this run has",
        line,
    )
    metric, factor, column, suffix = LATENCY, 1.0, 2, "lat"
    if found["unit"]:
        metric, factor, column, suffix = BANDWIDTH, _RATES[found["unit"]], 1, "bw"
    kind = _kind(part, suffix)
    for size_B, values, row in _rows(found, line):
        require(
            _is_right_rate(size_B, values, factor)
            if column == 1
            else _is_right_latency(values),
            f"the values of a row contradict each other: {quoted(row)}",
            line,
        )
        yield (kind, metric, size_B), Row(one, other, values[column] * factor, line)


def _rows(found: re.Match[str], line: int) -> list[tuple[int, list[float], str]]:
    """Return size, values and text of each row of results; the sizes differ."""
    integers, others = (found["titles"].count(mark) for mark in "#[")
    number = r"[ \t]+-?\d{1,15}\.\d{2,9}"
    form = (
        rf"[ \t]*(\d{{1,15}})(?:[ \t]+\d+){{{integers - 1}}}((?:{number}){{{others}}})"
    )
    printed = re.sub(_CLOCK, "", found["rows"]).splitlines()
    rows = [
        (int(cells[1]), list(map(float, cells[2].split())), cells[0])
        for cells in map(re.compile(form).fullmatch, printed)
        if cells
    ]
    require(
        len({size_B for size_B, *_ in rows}) == len(printed),
        f"rows of different sizes with {integers + others} numbers were expected",
        line,
    )
    return rows


def _kind(part: str, suffix: str) -> str:
    """Return the program by the title of a run, such as ``ib_write_bw -b``; empty without a title."""
    test = _TEST.search(part)
    return f"ib_{test[1].lower()}_{suffix}{' -b' if test[2] else ''}" if test else ""


def _is_one_run(before: str, after: str) -> bool:
    """Return whether results are of one run, and at its end; :param before: what it printed above them."""
    is_mixed = (
        _VALUES.search(before + after)
        or _BANNER.search(after)
        or len(_BANNER.findall(before)) > 2
    )
    is_whole = not _TEST.search(before) or re.search(r"(?m)^[ \t]*-{2,}$", after)
    return bool(is_whole and not is_mixed)


def _is_right_rate(size_B: int, values: list[float], factor: float) -> bool:
    """Return whether peak, average and message rate agree; a run of some seconds measures no peak and prints
    0."""
    peak, average, rate = values[:3]  # a least bandwidth may follow
    off = abs(rate * size_B - average * factor)  # which have six decimals and two
    return (
        not peak or peak >= average * 0.999 - 0.01
    ) and off <= 0.0051 * factor + 6e-7 * size_B


def _is_right_latency(values: list[float]) -> bool:
    """Return whether times are in order; the percentiles of 99 and 99.9 follow mean and deviation."""
    least, most, typical, *more = values
    in_order = [least, typical, *more[2:], most]
    return in_order == sorted(in_order) and all(
        least <= mean <= most for mean in more[:1]
    )
