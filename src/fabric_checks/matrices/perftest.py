# SPDX-License-Identifier: BSD-3-Clause
"""Output of perftest (``ib_write_bw``, ``ib_send_lat``, ...) of many pairs in one file.

perftest prints no names of hosts. So a line before each run has to name its ends in the direction of the data, as
``node1 -> node2`` or ``node1:mlx5_0 -> node2:mlx5_0``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, End, PairTable, Row
from fabric_checks.matrices.reading import Measurement, cleaned, of_sizes
from fabric_checks.parsers.table import whole

NAME = "perftest"
NEXT = (
    "echo '{sender} -> {receiver}'; ssh {receiver} ib_write_bw -F >/dev/null & sleep 1; "
    "ssh {sender} ib_write_bw -F --report_gbits {receiver}; wait"
)

_CANNOT_TELL = "the device of the other end, where perftest prints one and no line names it: it is taken to be the same"
_END = r"(?P<{0}>[A-Za-z0-9](?:[\w.-]*\w)?)(?:[:/](?P<{0}_device>[A-Za-z]\w*))?"
#: Such a line may have two words before the pair, such as "pair 3:", and marks around it.
_PAIR = re.compile(
    r"^[ \t#=*\[-]*(?:\w+:?[ \t]+){0,2}?"
    rf"{_END.format('a')}[ \t]*(?:<?-+>|=+>|→)[ \t]*{_END.format('b')}[:\]]?(?:[ \t]+[#=*-]*)?$",
    re.MULTILINE,
)
_HEADER = re.compile(
    r"^[ \t]*(#bytes +(?:#sl +)?#iterations +(?:t_avg\[usec\] +tps average"
    r"|BW peak\[(?P<unit>(?:Gb|MB|MiB)/sec)\] +BW average\[(?P=unit)\] +MsgRate\[Mpps\]"
    r"|t_min\[usec\] +t_max\[usec\] +t_typical\[usec\](?: +t_avg\[usec\] +t_stdev\[usec\]"
    r"(?: +99% percentile\[usec\] +99\.9% percentile\[usec\])?)?)(?: +CPU_Util\[%\])?)[ \t]*$",
    re.MULTILINE,
)
_KIND = re.compile(r"^[ \t]*([A-Za-z].*(?:BW|Latency) Test)[ \t]*$", re.MULTILINE)
_DEVICE = re.compile(r"\bDevice[ \t]*: (\w+)[ \t]*$", re.MULTILINE)
_ADDRESS = re.compile(r"^[ \t]*(?:local|remote) address: (.*?QPN \S+ PSN \S+)", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*-{2,}[ \t]*$", re.MULTILINE)
#: A row, or numbers of one whose header is damaged.
_NUMBERS = re.compile(r"^[ \t]*[-+.\d]+(?:[ \t]+\d[\d.]*){3,}[ \t]*$", re.MULTILINE)
#: An arrow after words.
_ARROW = re.compile(r"^[^\w\n]*\w.*->.*$", re.MULTILINE)
#: perftest counts MB as 2^20 bytes, and calls them MiB in newer releases.
_RATES = {"Gb/sec": UNITS["Gb/s"][1], "MB/sec": UNITS["MiB/s"][1], "MiB/sec": UNITS["MiB/s"][1]}


def recognizes(text: str) -> bool:
    """Return whether a text has results of perftest."""
    return bool(_HEADER.search(text))


def parse(text: str) -> list[PairTable]:
    """Read the average bandwidth or the typical latency of each run; one that both sides printed is counted once.

    :raises OutputError: if a run is not whole, contradicts itself, or names no pair.
    """
    text = cleaned(text)
    named = list(_PAIR.finditer(text))
    bounds = [*(match.start() for match in named), len(text)]
    measured: list[Measurement] = []
    silent = []
    if "#bytes" in text[: bounds[0]] or _NUMBERS.search(text[: bounds[0]]):
        other = _ARROW.search(text[: bounds[0]])
        found = f"; {quoted(other[0].strip())} is no such line" if other else ""
        raise OutputError(f"no line names the ends of the first run: print one before each, as node1 -> node2{found}")
    for match, end in zip(named, bounds[1:], strict=True):
        part, line = text[match.end() : end], text.count("\n", 0, match.start()) + 1
        if other := _ARROW.search(part):
            raise OutputError(f"{quoted(other[0].strip())} names no pair as 'node1:mlx5_0 -> node2:mlx5_0' does", line)
        if "#bytes" in part or _NUMBERS.search(part):
            measured += _run(match, part, line)
        else:
            silent.append(match[0].strip())
    failed = f"{quoted(names_text(silent), 200)}: named, but without a value, as if the run had failed"
    return of_sizes(NAME, measured, cannot_tell=[_CANNOT_TELL, failed] if silent else [_CANNOT_TELL])


def _run(named: re.Match[str], part: str, line: int) -> Iterator[Measurement]:
    """Yield the measurements of what follows a line that names a pair: a run, of which the other side may follow."""
    addresses, kinds = _ADDRESS.findall(part), list(_KIND.finditer(part))
    if len(addresses) == 4 and set(addresses[:2]) == set(addresses[2:]) and len(kinds) == 2:
        part = part[: kinds[1].start()]
    header, kind, device = _HEADER.search(part), _KIND.findall(part), _DEVICE.findall(part)
    rule = _RULE.search(part, header.end()) if header else None
    rows = _NUMBERS.findall(part, header.end(), rule.start() if rule else len(part)) if header else []
    single = max(part.count("#bytes"), len(re.findall("(?:BW|Latency) Test", part)), len(device)) == 1
    late = header and (_KIND.search(part, header.end()) or _DEVICE.search(part, header.end()))
    if not header or late or not rows or not single or (kind and not rule) or len(rows) != len(_NUMBERS.findall(part)):
        raise OutputError("the results of this run are missing, cut off or mixed with those of another", line)
    ends = [End(named[key], named[f"{key}_device"] or "".join(device)) for key in "ab"]
    if device and device[0] not in {end.device for end in ends}:
        raise OutputError(f"neither end is named with the device {quoted(device[0])}, which this run has", line)
    columns, integers = len(re.findall(r"#|\[|tps", header[1])), header[1].count("#")
    form = rf" *(?:\d{{1,15}} +){{{integers}}}(?:\d{{1,15}}\.\d{{2,9}} *){{{columns - integers}}}"
    for row in rows:
        if not re.fullmatch(form, row.replace("\t", " "), re.ASCII):
            raise OutputError(f"a row of {columns} numbers was expected, found {quoted(row)}", line)
        yield _measurement("".join(kind), header, row.split(), ends, line)
    if len({row.split()[0] for row in rows}) < len(rows):
        raise OutputError("the same message size is there twice in one run", line)


def _measurement(kind: str, header: re.Match[str], cells: Sequence[str], ends: Sequence[End], line: int) -> Measurement:
    """Return the measurement of a row."""
    size, values = whole(cells[0], line, "a message size"), [float(cell) for cell in cells[2 + ("#sl" in header[1]) :]]
    if header["unit"]:
        factor = _RATES[header["unit"]]
        peak, average, rate = values[:3]
        # The message rate has six decimals, the bandwidth two. A run of some seconds measures no peak and prints 0.
        slack = 0.0051 * factor + 6e-7 * size
        if (peak and peak < average * 0.999 - 0.01) or abs(rate * size - average * factor) > slack:
            raise OutputError(f"peak, average and message rate contradict each other: {quoted(' '.join(cells))}", line)
        return Measurement(kind, BANDWIDTH, size, Row(ends[0], ends[1], average * factor, line))
    least, most, typical = values[:3] if "t_min" in header[1] else values[:1] * 3
    if not least <= typical <= most or ("t_stdev" in header[1] and not least <= values[3] <= most):
        raise OutputError(f"least, typical and greatest time contradict each other: {quoted(' '.join(cells))}", line)
    return Measurement(kind, LATENCY, size, Row(ends[0], ends[1], typical, line))
