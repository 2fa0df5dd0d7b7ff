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
from fabric_checks.matrices.shared_readers import of_sizes
from fabric_checks.parsers.table import whole

NAME = "perftest"
NEXT = (
    "echo '{sender.host} -> {receiver.host}'; ssh {receiver.host} {table.kind} -F -s {table.size_B} -d "
    "{receiver.device} >/dev/null & sleep 1; "
    "ssh {sender.host} {table.kind} -F -s {table.size_B} -d {sender.device} {receiver.host}; wait"
)
SIGNATURE = re.compile(r"^[ \t]*#bytes +(?:#sl +)?#iterations +", re.MULTILINE)

_CANNOT_TELL = (
    "the device of the other end, where perftest prints one and no line names it: it is taken to be the same"
)
_END = r"([A-Za-z0-9](?:[\w.-]*\w)?)(?:[:/]([A-Za-z]\w*))?"
#: Such a line may have two words before the pair, such as "pair 3:", and marks around it.
_PAIR = re.compile(
    rf"^[ \t#=*\[-]*(?:\w+:?[ \t]+){{0,2}}?{_END}[ \t]*-+>[ \t]*{_END}[:\]]?(?:[ \t]+[#=*-]*)?$", re.MULTILINE
)
_ARROW = re.compile(r"^[^\w\n]*\w.*->.*$", re.MULTILINE)
#: Titles and rows of a bandwidth (peak, average, message rate) or of a latency (least, greatest, typical
#: time).
_RESULTS = re.compile(
    r"^[ \t]*(#bytes +(?:#sl +)?#iterations +(?:BW peak\[(?P<unit>Gb/sec|MB/sec|MiB/sec)\] +BW"
    r" average\[(?P=unit)\] +"
    r"MsgRate\[Mpps\]|t_min\[usec\] +t_max\[usec\] +t_typical\[usec\]).*)\n((?:[ \t]*\d.*\n)+)",
    re.MULTILINE,
)
_TEST = re.compile(
    r"^[ \t]*(?:RDMA_)?([A-Z][a-z]+)[\w ]*?( Bidirectional)? (?:BW|Latency) Test$", re.MULTILINE
)
_BANNER = re.compile(r"(?:BW|Latency) Test|Device[ \t]*:")
_DEVICE = re.compile(r"\bDevice[ \t]*: (\w+)$", re.MULTILINE)
#: Titles, a row, or numbers of one whose header is damaged.
_VALUES = re.compile(r"#bytes|^[ \t]*[-+.\d]+(?:[ \t]+\d[\d.]*){3,}$", re.MULTILINE)
#: perftest counts MB as 2^20 bytes, and calls them MiB in newer releases.
_RATES = {"Gb/sec": UNITS["Gb/s"][1], "MB/sec": UNITS["MiB/s"][1], "MiB/sec": UNITS["MiB/s"][1]}


def parse(text: str) -> list[PairTable]:
    """Read the average bandwidth or the typical latency of each run, of which one side's output is given."""
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    silent = []
    for arrow in _ARROW.finditer(text):
        if not _PAIR.match(text, arrow.start()):
            line = text.count("\n", 0, arrow.start()) + 1
            raise OutputError(
                f"{quoted(arrow[0].strip())} names no pair as 'node1:mlx5_0 -> node2:mlx5_0' does", line
            )
    named = list(_PAIR.finditer(text))
    ends = [*(match.start() for match in named), len(text)]
    if _VALUES.search(text, 0, ends[0]):
        raise OutputError("no line names the ends of the first run: print one before each, as node1 -> node2")
    for match, end in zip(named, ends[1:], strict=True):
        part = text[match.end() : end]
        if not _VALUES.search(part):
            silent.append(match[0].strip())
            continue
        for kind, metric, size_B, row in _run(match, part, text.count("\n", 0, match.start()) + 1):
            measured[kind, metric, size_B].append(row)
    failed = f"{quoted(names_text(silent), 200)}: named, but without a value, as if the run had failed"
    return of_sizes(NAME, measured, [_CANNOT_TELL, failed] if silent else [_CANNOT_TELL])


def _run(named: re.Match[str], part: str, line: int) -> Iterator[tuple[str, str, int, Row]]:
    """Yield what a run measured, which follows a line that names its pair."""
    tests, found, devices = list(_TEST.finditer(part)), _RESULTS.search(part), _DEVICE.findall(part)
    if found is None or len(devices) > 1 or not _is_one_run(part, found[0], has_test=bool(tests)):
        raise OutputError("the results of this run are missing, cut off or mixed with those of another", line)
    one, other = _ends(named, "".join(devices), line)
    is_bandwidth = found["unit"] is not None
    metric, factor = (BANDWIDTH, _RATES[found["unit"]]) if is_bandwidth else (LATENCY, 1.0)
    kind = ""
    for test in tests:
        kind = f"ib_{test[1].lower()}_{'bw' if is_bandwidth else 'lat'}{' -b' if test[2] else ''}"
    rows = [row.split() for row in found[3].splitlines()]
    if len({row[0] for row in rows}) < len(rows):
        raise OutputError("the same message size is there twice in one run", line)
    integers = found[1].count("#")
    for cells in rows:
        size_B, values = _numbers(cells, integers, integers + found[1].count("["), line)
        is_right = _is_right_rate(size_B, values, factor) if is_bandwidth else _is_right_latency(values)
        if not is_right:
            raise OutputError(f"the values of a row contradict each other: {quoted(' '.join(cells))}", line)
        yield kind, metric, size_B, Row(one, other, values[1 if is_bandwidth else 2] * factor, line)


def _is_one_run(part: str, results: str, *, has_test: bool) -> bool:
    """Return whether a text has the results of one run, and their end."""
    before, _, after = part.partition(results)
    is_mixed = _VALUES.search(before) or _VALUES.search(after) or _BANNER.search(after)
    is_cut = has_test and not re.search(r"^[ \t]*-{2,}$", after, re.MULTILINE)
    return not (is_mixed or is_cut or len(_BANNER.findall(before)) > 2)


def _ends(named: re.Match[str], device: str, line: int) -> tuple[End, End]:
    """Return the two ends of a run; :param device: the one that it prints, or nothing."""
    one, other = End(named[1], named[2] or device), End(named[3], named[4] or device)
    if device and device not in (one.device, other.device):
        raise OutputError(f"neither end is named with the device {quoted(device)}, which this run has", line)
    return one, other


def _numbers(cells: list[str], integers: int, columns: int, line: int) -> tuple[int, list[float]]:
    """Return the size and the values of a row."""
    if len(cells) != columns or not all(
        re.fullmatch(r"\d{1,15}\.\d{2,9}", cell) for cell in cells[integers:]
    ):
        raise OutputError(f"a row of {columns} numbers was expected, found {quoted(' '.join(cells))}", line)
    size_B, *_ = (whole(cell, line, "a size and a count") for cell in cells[:integers])
    return size_B, [float(cell) for cell in cells[integers:]]


def _is_right_rate(size_B: int, values: list[float], factor: float) -> bool:
    """Return whether peak, average and message rate agree; a run of some seconds measures no peak and prints
    0."""
    peak, average, rate = values
    off = abs(rate * size_B - average * factor)  # which have six decimals and two
    return (not peak or peak >= average * 0.999 - 0.01) and off <= 0.0051 * factor + 6e-7 * size_B


def _is_right_latency(values: list[float]) -> bool:
    """Return whether times are in order; the percentiles of 99 and 99.9 follow mean and deviation."""
    least, most, typical, *more = values
    in_order = [least, typical, *more[2:], most]
    return in_order == sorted(in_order) and all(least <= mean <= most for mean in more[:1])
