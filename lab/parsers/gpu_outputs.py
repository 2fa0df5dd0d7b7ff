# SPDX-License-Identifier: BSD-3-Clause
"""Public outputs of nccl-tests, rccl-tests and OSU on devices, read by the parsers and cell by cell by other
means.

    python -m lab.parsers.gpu_outputs FOLDER...

FOLDER is a clone of a public repository, bare or not; all its text files are searched at HEAD. Nothing of
them is kept here: what is printed is a row for each clone, with its commit, and the reasons of refusals. The
second reading knows columns by counting from the right end of a row, and neither checks nor corrects
anything.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import nccl_tests, osu

#: What ends an output of nccl-tests; and the title of OSU's.
END = r"Out of bounds values *:"
TITLE = r"# OSU (MPI|NCCL|RCCL)-(CUDA|ROCM) .*Test v"
#: What launchers put before a line.
TAG = re.compile(r"^(?:\[\d+,\d+\]<\w+>: ?| *\d+: ?(?=[# ]))", re.MULTILINE)
NCCL_ROW = re.compile(
    r"^ *\d+ +\d+ +(?:u?int|half|float|double|bf|fp|f8)\w* .*$", re.MULTILINE
)
OSU_ROW = re.compile(r"^ *(\d+) +([\d.]+)(?: +[\d.]+)*(?: +Pass)? *$")


def git(folder, *arguments):
    """Return what git prints of a clone."""
    done = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace")


def texts(folder):
    """Yield each text file at HEAD that has such an output."""
    for name in git(folder, "grep", "-lIE", f"{END}|{TITLE}", "HEAD").splitlines():
        yield git(folder, "show", name)


def dedented(lines):
    """Return lines without the indentation of the first of them, as in a page."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    return (
        "\n".join(
            line[indent:] if not line[:indent].strip() else line for line in lines
        )
        + "\n"
    )


def of_nccl_tests(text):
    """Yield the outputs in a text: each begins where a run begins, or behind the one before, and ends with
    its mean."""
    lines, first = text.splitlines(), 0
    for at, line in enumerate(lines):
        if not re.search(END, line):
            continue
        last = next(
            (
                end
                for end in range(at, min(at + 40, len(lines)))
                if "Avg bus bandwidth" in lines[end]
            ),
            at,
        )
        heads = [begin for begin in range(first, at) if "# nThread" in lines[begin]]
        heads = heads or [
            begin for begin in range(first, at) if "# Using devices" in lines[begin]
        ]
        begin = max(heads, default=first)
        above = [
            of
            for of in range(max(first, begin - 3), begin)
            if "nccl-tests version" in lines[of]
        ]
        yield dedented(lines[min(above, default=begin) : last + 1])
        first = last + 1


def of_osu(text):
    """Yield the outputs of OSU in a text: the title, and the table below it."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.search(rf"^\s*{TITLE}", line):
            end = at + 1
            while end < len(lines) and re.match(r"\s*(#(?! OSU)|$|\d+ )", lines[end]):
                end += 1
            yield dedented(lines[at:end])


def nccl_cells(text):
    """Return size, and time, algorithm and bus bandwidth out of place and in place of each row, as they are
    printed."""
    text = TAG.sub("", text)
    titles = next(
        (
            line.split()[1:]
            for line in text.splitlines()
            if re.match(r"# +size +count ", line)
        ),
        [],
    )
    stamps = titles.count("timestamp")
    starts = [
        at - len(titles)
        for at, name in enumerate(titles)
        if name in ("time", "cputime")
    ]
    rows = []
    for row in NCCL_ROW.findall(text):
        cells = row.split()[: -2 * stamps or None]
        rows.append((int(cells[0]), [cells[at + stamps :][:3] for at in starts]))
    return rows


def half_digit(cell):
    """Return half of the last digit that is printed."""
    digits, _, power = cell.partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def same(value, cell, cells):
    """Return whether a value is the printed one; where the row's bandwidths have few digits, one from its
    time will do.

    :param cells: time, algorithm and bus bandwidth, of which ``cell`` is one.
    """
    time, rate, _ = cells
    few = half_digit(rate) > 0.0099 * float(rate)
    from_time = 1.001 * half_digit(cell) + 1.01 * value * half_digit(time) / float(time)
    return value == float(cell) or (
        few and cell is not time and abs(value - float(cell)) <= from_time
    )


def read_nccl(text):
    """Read an output with the parser; return the number of cells, and whether all are those of the second
    reading."""
    rows, ranks = nccl_cells(text), len(re.findall(r"#\s+Rank ", text))
    names = nccl_names(rows, ranks)
    sizes = [size_B for size_B, _ in rows]
    if names and len(set(sizes)) == len(sizes):
        output = nccl_tests.parse(text, names[0], sizes, ranks)
        pairs = list(
            zip(output.out_of_place.values(), output.in_place.values(), strict=True)
        )
    else:  # another collective, or several cycles
        text = TAG.sub("", text)
        nccl_tests.devices(text)
        pairs = [(row.out_of_place, row.in_place) for row in nccl_tests.rows(text)]
    found = [
        (value, cell, cells)
        for pair, (_, groups) in zip(pairs, rows, strict=True)
        for of, cells in zip(pair, groups, strict=True)
        for value, cell in zip(
            (of.time_us, of.algorithm_MBps / 1e3, of.bus_MBps / 1e3), cells, strict=True
        )
    ]
    return len(found), all(same(*each) for each in found)


def nccl_names(rows, ranks):
    """Return the collectives whose bus bandwidth is as many times the algorithm bandwidth as in these
    rows."""
    rates = [
        cells[1:]
        for _, groups in rows
        for cells in groups
        if all(re.match(r"\d", cell) for cell in cells)
    ]
    ratio = max(
        (float(bus) / float(rate) for rate, bus in rates if float(rate) > 1), default=0
    )
    off = (
        {name: abs(of(ranks) - ratio) for name, of in nccl_tests.BUS_FACTOR.items()}
        if ranks
        else {}
    )
    return [name for name, value in off.items() if value == min(off.values()) < 0.02]


def read_osu(text):
    """Read an output of OSU with the parser; return whether all sizes and first values are those of the
    second one."""
    rows = [
        match.groups() for line in text.splitlines() if (match := OSU_ROW.match(line))
    ]
    title = re.match(r"# OSU (MPI|[NR]CCL)(?:-(\w+))?( .*Test) v", text)
    wanted = title[1].replace("RCCL", "NCCL") + title[3]
    name = next(
        (name for name, known in osu.TITLES.items() if known.lower() == wanted.lower()),
        None,
    )
    if name is None:
        raise OutputError(f"no benchmark has the title {wanted!r}")
    output = osu.parse(text, name, [int(size_B) for size_B, _ in rows] or [1])
    memory = output.memory == (title[2] or "host").lower()
    pairs = list(zip(output.rows, rows, strict=True))
    return len(pairs), memory and all(
        next(iter(row.values.values())) == float(value) for row, (_, value) in pairs
    )


def main():
    """Print a row for each clone, and why outputs were refused."""
    reasons, total = Counter(), Counter()
    print(
        "| clone at commit | program | outputs | cells | right | refused | wrong"
        " |\n|---|---|---|---|---|---|---|"
    )
    for folder in map(Path, sys.argv[1:]):
        name = (
            folder.parent if folder.name in ("repo", ".git") else folder
        ).name.replace("+", "/")
        commit, seen = git(folder, "rev-parse", "--short", "HEAD").strip(), set()
        of_clone = {kind: Counter() for kind in ("nccl-tests", "OSU")}
        for text in texts(folder):
            for kind, split, read in (
                ("nccl-tests", of_nccl_tests, read_nccl),
                ("OSU", of_osu, read_osu),
            ):
                for output in split(text):
                    if output in seen:
                        continue
                    seen.add(output)
                    count = of_clone[kind]
                    count["outputs"] += 1
                    try:
                        cells, right = read(output)
                        count["cells"] += cells
                        count["right" if right else "wrong"] += 1
                    except OutputError as error:
                        count["refused"] += 1
                        reasons[
                            re.sub(
                                r"[\d.]+|'.*'|\".*\"",
                                "N",
                                str(error).partition(": ")[2] or str(error),
                            )
                        ] += 1
        for kind, count in of_clone.items():
            if count:
                total.update({(kind, key): value for key, value in count.items()})
                columns = [
                    str(count[key])
                    for key in ("outputs", "cells", "right", "refused", "wrong")
                ]
                print(f"| {name} {commit} | {kind} | {' | '.join(columns)} |")
    for kind in ("nccl-tests", "OSU"):
        columns = [
            str(total[kind, key])
            for key in ("outputs", "cells", "right", "refused", "wrong")
        ]
        print(f"| all | {kind} | {' | '.join(columns)} |")
    print()
    for reason, count in reasons.most_common():
        print(f"- {count}: {reason}")


if __name__ == "__main__":
    main()
