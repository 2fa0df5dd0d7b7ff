# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs read a second time, in another way than the parsers: what has to be in an accepted
output."""

import re
from collections import Counter

import numpy as np

MiB = 1.048576


def contradictions(program, text, tables):
    """Return how the tables of an output differ from what its reader here finds in it, and are no such
    tables."""
    found = Counter()
    try:
        for table in tables:
            for one, other, value, *_ in table.rows:
                assert one != other and np.isfinite(value)
                found[str(one), str(other), table.metric, f"{value:.6g}"] += 1
        wanted = Counter(
            (*row[:3], f"{row[3]:.6g}") for row in READERS[program](_bare(text))
        )
    except Exception as error:  # what it cannot read is as bad
        return [f"not read: {type(error).__name__}: {str(error)[:60]}"]
    return (
        []
        if found == wanted
        else [f"values: {found - wanted} are not {wanted - found}"]
    )


def _bare(text):
    text = re.sub(
        r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]",
        "\ufffd",
        re.sub(r"\r\n?", "\n", text.replace("\ufeff", "")),
    )
    text = re.sub(r"(?m)[ \t]+$", "", text)
    return re.sub(
        r"(?m)^\[[\w.@-]*\d+,\d+\]<std(?:out|err)>:",
        "",
        re.sub(r"\x1b\[[0-9;:]*m|\x1b\[K", "", text),
    )


def _size_of_most(rows):
    """Return the size of most pairs, the largest; of sizes and pairs."""
    pairs = Counter(size for size, *_ in set(rows))
    return max(pairs, key=lambda size: (pairs[size], size))


def nccl(text):
    """Yield the largest size of each run of two ranks, by the positions of the columns."""
    runs = list(
        re.finditer(r"(?ms)^# Using devices.*?^# Avg bus bandwidth *: \S+", text)
    )
    sizes = {}
    for run, after in zip(runs, [*runs[1:], None], strict=True):
        program = re.findall(
            r"(?m)^# Collective test concluded: (\w+)",
            text[run.end() : after.start() if after else None],
        )
        run = (
            "# Using devices" + run[0].rpartition("# Using devices")[2]
        )  # one that failed comes before
        ends = re.findall(r"(?m)^#\s+Rank.* on +(\S+) device +0*(\d+) ", run)
        rows = [
            line.split()
            for line in run.splitlines()
            if re.match(r"\s*\d+\s+\d+\s+[a-z]", line)
        ]
        assert len(ends) == 2
        assert {len(row) for row in rows} == {13}
        assert (
            abs(
                sum(float(row[7]) + float(row[11]) for row in rows) / 2 / len(rows)
                - float(run.split()[-1])
            )
            < 0.07
        )
        named = [
            (f"{ends[0][0]} gpu {ends[0][1]}", f"{ends[1][0]} gpu {ends[1][1]}", row)
            for row in rows
        ]
        sizes.setdefault("".join(program), []).append(named)
    for of_program in sizes.values():
        runs = [(one, other, row) for run in of_program for one, other, row in run]
        size = _size_of_most((int(row[0]), one, other) for one, other, row in runs)
        for one, other, row in runs:
            if int(row[0]) == size:
                yield one, other, "bandwidth", float(row[7]) * 1e3
            assert int(row[0]) > 1024


def mpigraph(text):
    """Yield the cells of both matrices."""
    for which, word in (("Send", " to"), ("Recv", " from")):
        lines = text.splitlines()
        titles = next(line for line in lines if line.startswith(f"{which}\t")).split()[
            1:
        ]
        for line in lines:
            label, *cells = line.split("\t")
            if re.fullmatch(rf".*:\d+{word}", label):
                for title, cell in zip(titles, cells, strict=False):
                    pair = (label.removesuffix(word), title)
                    if pair[0] != pair[1]:
                        one, other = pair if which == "Send" else pair[::-1]
                        yield (
                            one.split(":")[0],
                            other.split(":")[0],
                            "bandwidth",
                            float(cell) * MiB,
                        )


def perftest(text):
    """Yield the values of the names before each row, of the largest size that all pairs have."""
    names, device, kind, found = None, "", "", []
    for line in text.splitlines():
        cells = line.split()
        if match := re.search(
            r"(?:^|[\t #=*\[-])(\w\S*?)[ \t]*<?-+>[ \t]*(\w\S*?)[\]:]?([ \t]+[=#*-]*)?$",
            line,
        ):
            names = [
                name.replace(":", " ").replace("/", " ") for name in match.groups()[:2]
            ]
            device = ""
            kind = ""
        elif line.rstrip().endswith((" BW Test", " Latency Test")):
            kind = line.strip()
        elif match := re.search(r"\bDevice[ \t]*: (\w+)[ \t]*$", line):
            device = f" {match[1]}"
        elif len(cells) in {5, 9} and re.fullmatch(
            r"\d+ \d+(?: \d+\.\d+)+", " ".join(cells)
        ):
            if len(cells) == 5:
                assert (
                    abs(float(cells[3]) - float(cells[4]) * int(cells[0]) * 8e-3) < 0.02
                )
            if names:  # without, it is the other side of the run before
                value = (
                    ("bandwidth", float(cells[3]) * 125)
                    if len(cells) == 5
                    else ("latency", float(cells[4]))
                )
                found.append(
                    (
                        int(cells[0]),
                        *(name + device * (" " not in name) for name in names),
                        *value,
                        kind,
                    )
                )
            names = None
    for table in sorted({row[3::2] for row in found}):
        rows = [row for row in found if row[3::2] == table]
        size = _size_of_most(row[:3] for row in rows)
        yield from (row[1:5] for row in rows if row[0] == size)


def clusterkit(text):
    """Yield the cells above the diagonal, and those below unless they are the same or none is there."""
    rows = [
        re.findall(r"[^\s():]+", line)
        for line in text.splitlines()
        if re.match(r"\s*\d+ \(\S+\):", line)
    ]
    hosts = [row[1] for row in rows]
    cells = np.array([row[2:] for row in rows], dtype=float)
    seen = [f"{host} task {hosts[:at].count(host)}" for at, host in enumerate(hosts)]
    names = seen if len(set(hosts)) < len(hosts) else hosts
    lower = not (np.allclose(cells, cells.T) or not np.tril(cells, -1).any())
    metric = (
        "latency"
        if re.search("(?i)(minimum|average|maximum) latency", text)
        else "bandwidth"
    )
    factor = _factor(
        re.search(r"(?i)(?:minimum|average|maximum) bandwidth:\s*\S+ +(\S+)", text)[1]
    )
    for one, other in zip(*np.nonzero(cells), strict=True):
        if one < other or (lower and one > other):
            yield names[one], names[other], metric, cells[one, other] * factor


def _factor(unit):
    """Return what one of a unit such as ``GiB/s`` is in MB/s."""
    prefix, letter = re.fullmatch(r"([KMGT]?i?)([Bb])/s(?:ec)?", unit).groups()
    base = 1024 if prefix.endswith("i") else 1000
    return base ** " KMGT".index(prefix[:1] or " ") / (1e6 if letter == "B" else 8e6)


def plain(text):
    """Yield the cells of a matrix or of rows."""
    factor = _factor(re.search(r"(?im)^#[ \t]*unit[ \t]*:\s*([^\s,]*)", text)[1])
    lines = [
        line.rstrip()
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]
    table = [[cell.strip(' "') for cell in re.split("[,;\t]", line)] for line in lines]
    if [cell.lower() for cell in table[0]] == ["from", "to", "value"]:
        cells = [
            row
            for row in table
            if [cell.lower() for cell in row] != ["from", "to", "value"]
        ]
    else:
        titles = table[0][1:]
        table[-1] += [""] * (len(table[-1]) == len(titles))
        assert all(len(row) == len(titles) + 1 for row in table)
        cells = [
            (row[0], to, cell)
            for row in table
            for to, cell in zip(titles, row[1:], strict=True)
        ]
        cells = [row for row in cells if row[0] != row[1] and row[0] in titles]
    has_devices = all(name.count(":") == 1 for row in cells for name in row[:2])
    for one, other, value in cells:
        if value.lower() not in ("", "-", "nan", "n/a"):
            names = [
                name.replace(":", " ") if has_devices else name for name in (one, other)
            ]
            yield (*names, "bandwidth", float(value) * factor)


#: The readers, by the names of programs in ``tests.parsers.corpus``.
READERS = {
    "nccl-tests": nccl,
    "mpigraph": mpigraph,
    "perftest": perftest,
    "clusterkit": clusterkit,
    "csv": plain,
}
