# SPDX-License-Identifier: BSD-3-Clause
"""Ways in which the output of a program breaks; every check has to refuse each of them."""

import re
from contextlib import contextmanager

import pytest

from fabric_checks.core.errors import OutputError


@contextmanager
def refused(message):
    """Let an output be refused, in one line that matches."""
    with pytest.raises(OutputError, match=message) as caught:
        yield caught
    assert str(caught.value).isprintable()


def is_row(line):
    """Tell whether a line is a row of a table: it begins with a number."""
    return re.match(r"\s*\d", line) is not None


def with_cell(line, column, text):
    """Return a row with one cell replaced."""
    cells = re.split(r"(\s+)", line.strip())
    cells[2 * column] = text
    return "".join(cells)


def of_table(text, value_columns):
    """Return broken variants of an output that holds a table of at least one row, by name.

    :param value_columns: the columns, counted from 0, that hold measured values.
    """
    lines = text.splitlines(keepends=True)
    rows = [index for index, line in enumerate(lines) if is_row(line)]
    middle, last = rows[len(rows) // 2], rows[-1]
    broken = {
        "empty": "",
        "cut within a row": "".join(lines[:middle]) + lines[middle].rstrip()[:-6],
        "cut after the header": "".join(lines[: rows[0]]),
        "two interleaved lines": "".join(lines[:last])
        + lines[last].rstrip()
        + " "
        + lines[middle]
        + "".join(lines[last + 1 :]),
        "a row torn in two": "".join(lines[:middle])
        + torn(lines[middle])
        + "".join(lines[middle + 1 :]),
        "printed twice": text + text,
        "the last number cut": "".join(lines[:last]) + lines[last].rstrip()[:-1],
        "another row after the table": "".join(lines[: last + 1])
        + lines[middle]
        + "".join(lines[last + 1 :]),
        "a row of nan after the table": "".join(lines[: last + 1])
        + "nan " * len(lines[last].split())
        + "\n",
        "an underscore in a number": replaced(lines, middle, value_columns[0], "1_0.5"),
        "a word for a number": replaced(lines, middle, value_columns[0], "timeout"),
    }
    if len(rows) > 1:
        broken["a missing size"] = "".join(lines[:middle] + lines[middle + 1 :])
        broken["the last size missing"] = "".join(lines[:last] + lines[last + 1 :])
        broken["a size twice"] = "".join(lines[: middle + 1] + lines[middle:])
        broken["sizes out of order"] = (
            "".join(
                [
                    *lines[:middle],
                    lines[middle + 1],
                    lines[middle],
                    *lines[middle + 2 :],
                ]
            )
            if middle + 1 in rows
            else "".join(
                [
                    *lines[: middle - 1],
                    lines[middle],
                    lines[middle - 1],
                    *lines[middle + 1 :],
                ]
            )
        )
    for column in value_columns:
        for name, cell in (
            ("NaN", "nan"),
            ("infinity", "inf"),
            ("zero", "0.00"),
            ("a negative value", "-1.00"),
        ):
            broken[f"{name} in column {column}"] = replaced(lines, middle, column, cell)
    return broken


def torn(line):
    """Return a row with a line break in its middle, as a second writer leaves it."""
    indent = len(line) - len(line.lstrip())
    half = indent + len(line.strip()) // 2
    return line[:half] + "\n" + line[half:]


def replaced(lines, index, column, cell):
    """Return the text with one cell replaced."""
    return "".join(
        [
            *lines[:index],
            with_cell(lines[index], column, cell) + "\n",
            *lines[index + 1 :],
        ]
    )


def of_lammps(text):
    """Return broken variants of an output of LAMMPS, by name."""
    lines = text.splitlines(keepends=True)
    loop = next(
        index for index, line in enumerate(lines) if line.startswith("Loop time")
    )
    time = lines[loop].split()[3]

    def without(prefix):
        return "".join(line for line in lines if not line.startswith(prefix))

    return {
        "empty": "",
        "cut before the loop time": "".join(lines[:loop]),
        "cut within the loop time": "".join(lines[:loop]) + "Loop time of 1.0",
        "cut after the loop time": "".join(lines[: loop + 1]),
        "no last line": without("Total wall time"),
        "no performance line": without("Performance"),
        "no breakdown of communication": without("Comm "),
        "no last thermo row": "".join(lines[: loop - 1] + lines[loop:]),
        "printed twice": text + text,
        "a whole run after a killed one": "".join(lines[:loop]) + text,
        "a repeated section": text.replace(
            "Comm    |", "Comm    | 1 | 1 | 1 | 0 | 0.01\nComm    |", 1
        ),
        "NaN": text.replace(f"Loop time of {time}", "Loop time of nan"),
        "zero": text.replace(f"Loop time of {time}", "Loop time of 0"),
        "a negative value": text.replace(
            f"Loop time of {time}", f"Loop time of -{time}"
        ),
        "another loop time": text.replace(f"Loop time of {time}", "Loop time of 123.4"),
        "two interleaved lines": "".join(lines[:loop])
        + lines[loop].rstrip()
        + lines[loop + 2]
        + "".join(lines[loop + 3 :]),
        "an error": "".join(lines[:loop])
        + "ERROR: Lost atoms: original 32000 current 31999\n",
        "a share beyond 100 %": re.sub(r"(?m)^(Pair .*\| *)\S+$", r"\g<1>178.91", text),
    }
