# SPDX-License-Identifier: BSD-3-Clause
"""Output of perftest (``ib_write_bw``, ``ib_send_lat``, ...) of many pairs in one file.

perftest prints no names of hosts. So a line before each run has to name its ends in the direction of the data, as
``node1 -> node2`` or ``node1:mlx5_0 -> node2:mlx5_0``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, End, PairTable, Row
from fabric_checks.matrices.reading import of_sizes
from fabric_checks.parsers.table import whole

NAME = "perftest"
NEXT = (
    "echo '{sender} -> {receiver}'; ssh {receiver} {kind} -F -s {size_B}{receiver_device} >/dev/null & sleep 1; "
    "ssh {sender} {kind} -F -s {size_B}{sender_device} {receiver}; wait"
)

_CANNOT_TELL = "the device of the other end, where perftest prints one and no line names it: it is taken to be the same"
_END = r"(?P<{0}>[A-Za-z0-9](?:[\w.-]*\w)?)(?:[:/](?P<{0}_device>[A-Za-z]\w*))?"
#: Such a line may have two words before the pair, such as "pair 3:", and marks around it.
_PAIR = re.compile(
    r"^[ \t#=*\[-]*(?:\w+:?[ \t]+){0,2}?"
    rf"{_END.format('a')}[ \t]*(?:<?-+>|=+>|→)[ \t]*{_END.format('b')}[:\]]?(?:[ \t]+[#=*-]*)?$",
    re.MULTILINE,
)
#: An arrow after words.
_ARROW = re.compile(r"^[^\w\n]*\w.*->.*$", re.MULTILINE)
#: Titles and rows of a bandwidth (peak, average, message rate) or of a latency (least, greatest, typical time).
_RESULTS = re.compile(
    r"^[ \t]*(#bytes +(?:#sl +)?#iterations +(?:BW peak\[(?P<unit>Gb/sec|MB/sec|MiB/sec)\] +BW average\[(?P=unit)\] +"
    r"MsgRate\[Mpps\]|t_min\[usec\] +t_max\[usec\] +t_typical\[usec\]).*)\n((?:[ \t]*\d.*\n)+)",
    re.MULTILINE,
)
_TEST = re.compile(r"^[ \t]*(?:RDMA_)?([A-Z][a-z]+)[\w ]*?( Bidirectional)? (?:BW|Latency) Test$", re.MULTILINE)
_BANNER = re.compile(r"(?:BW|Latency) Test|Device[ \t]*:")
_DEVICE = re.compile(r"\bDevice[ \t]*: (\w+)$", re.MULTILINE)
_ADDRESS = re.compile(r"^[ \t]*(?:local|remote) address: (.*?QPN \S+ PSN \S+)", re.MULTILINE)
#: A row, or numbers of one whose header is damaged.
_NUMBERS = re.compile(r"^[ \t]*[-+.\d]+(?:[ \t]+\d[\d.]*){3,}$", re.MULTILINE)
#: perftest counts MB as 2^20 bytes, and calls them MiB in newer releases.
_RATES = {"Gb/sec": UNITS["Gb/s"][1], "MB/sec": UNITS["MiB/s"][1], "MiB/sec": UNITS["MiB/s"][1]}


def recognizes(text: str) -> bool:
    """Return whether a text has results of perftest."""
    return re.search(r"^[ \t]*#bytes +(?:#sl +)?#iterations +", text, re.MULTILINE) is not None


def parse(text: str) -> list[PairTable]:
    """Read the average bandwidth or the typical latency of each run; one that both sides printed is counted once.

    :raises OutputError: if a run is not whole, contradicts itself, or names no pair.
    """
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    silent = []
    named = [None, *_PAIR.finditer(text)]
    bounds = [0, *(match.start() for match in named if match), len(text)]
    for match, (start, end) in zip(named, pairwise(bounds), strict=True):
        part, line = text[match.end() if match else 0 : end], text.count("\n", 0, start) + 1
        if (other := _ARROW.search(part)) and (match or "#bytes" in part):
            raise OutputError(f"{quoted(other[0].strip())} names no pair as 'node1:mlx5_0 -> node2:mlx5_0' does", line)
        if "#bytes" not in part and not _NUMBERS.search(part):
            silent += [match[0].strip()] if match else []
        elif match is None:
            raise OutputError("no line names the ends of the first run: print one before each, as node1 -> node2")
        else:
            for kind, metric, size_B, row in _run(match, part, line):
                measured[kind, metric, size_B].append(row)
    failed = f"{quoted(names_text(silent), 200)}: named, but without a value, as if the run had failed"
    return of_sizes(NAME, measured, cannot_tell=[_CANNOT_TELL, failed] if silent else [_CANNOT_TELL])


def _run(named: re.Match[str], part: str, line: int) -> Iterator[tuple[str, str, int, Row]]:
    """Yield what a run measured, which follows a line that names its pair; the output of the other side may follow."""
    addresses, tests = _ADDRESS.findall(part), list(_TEST.finditer(part))
    if len(addresses) == 4 and set(addresses[:2]) == set(addresses[2:]) and len(tests) == 2:
        part, tests = part[: tests[1].start()], tests[:1]
    found, devices = _RESULTS.search(part), _DEVICE.findall(part)
    before, _, after = part.partition(found[0]) if found else (part, "", "")
    is_mixed = "#bytes" in before + after or _NUMBERS.search(before + after) or _BANNER.search(after)
    is_cut = bool(tests) and not re.search(r"^[ \t]*-{2,}$", after, re.MULTILINE)
    if not found or is_mixed or is_cut or len(_BANNER.findall(before)) > 2 or len(devices) > 1:
        raise OutputError("the results of this run are missing, cut off or mixed with those of another", line)
    device = "".join(devices)
    one, other = (End(named[key], named[f"{key}_device"] or device) for key in "ab")
    if device and device not in (one.device, other.device):
        raise OutputError(f"neither end is named with the device {quoted(device)}, which this run has", line)
    unit, integers, columns = found["unit"], found[1].count("#"), found[1].count("#") + found[1].count("[")
    metric, factor, kind = (BANDWIDTH, _RATES[unit], "") if unit else (LATENCY, 1.0, "")
    for test in tests:
        kind = f"ib_{test[1].lower()}_{'bw' if unit else 'lat'}{' -b' if test[2] else ''}"
    sizes_B = set[int]()
    for row in found[3].splitlines():
        cells = row.split()
        if len(cells) != columns or not all(re.fullmatch(r"\d{1,15}\.\d{2,9}", cell) for cell in cells[integers:]):
            raise OutputError(f"a row of {columns} numbers was expected, found {quoted(row)}", line)
        size_B, *_ = (whole(cell, line, "a size and a count") for cell in cells[:integers])
        values = [float(cell) for cell in cells[integers:]]
        if not (_is_rate(size_B, factor, *values[:3]) if unit else values[0] <= values[2] <= values[1]):
            raise OutputError(f"the values of a row contradict each other: {quoted(row.strip())}", line)
        if size_B in sizes_B:
            raise OutputError("the same message size is there twice in one run", line)
        sizes_B.add(size_B)
        yield kind, metric, size_B, Row(one, other, values[1 if unit else 2] * factor, line)


def _is_rate(size_B: int, factor: float, peak: float, average: float, rate: float) -> bool:
    """Return whether peak, average and message rate agree, of which these have two decimals and that one six.

    A run of some seconds measures no peak and prints 0.
    """
    off = abs(rate * size_B - average * factor)
    return (not peak or peak >= average * 0.999 - 0.01) and off <= 0.0051 * factor + 6e-7 * size_B
