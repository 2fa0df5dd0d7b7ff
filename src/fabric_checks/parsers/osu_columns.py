# SPDX-License-Identifier: BSD-3-Clause
"""The columns of OSU's tables: their titles, and those of each kind of benchmark.

Releases differ in titles (``Latency (us)``, ``Avg Latency(us)``; the ports ``Latency [us]``) and options add
columns: ``-f`` minimum, maximum and iterations, ``-c`` the validation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabric_checks.core.errors import OutputError, quoted

LATENCY, BANDWIDTH, MESSAGE_RATE, NON_BLOCKING = (
    "latency",
    "bandwidth",
    "message rate",
    "non-blocking",
)

_US, _MBPS = r"\s*[(\[]us[)\]]", r"\s*[(\[]MB/s[)\]]"
#: The titles, as patterns, and our names of the columns.
_TITLES = {
    r"Size(\s*[(\[]B[)\]])?": "size_B",
    rf"(Avg )?Latency{_US}": "latency_us",
    rf"Bandwidth{_MBPS}": "bandwidth_MBps",
    r"MB/s": "bandwidth_MBps",
    r"Messages/s": "message_rate_per_s",
    rf"Overall{_US}": "overall_us",
    rf"Compute{_US}": "compute_us",
    rf"Coll\. Init{_US}": "coll_init_us",
    rf"MPI_Test{_US}": "mpi_test_us",
    rf"MPI_Wait{_US}": "mpi_wait_us",
    rf"Pure Comm\.{_US}": "pure_comm_us",
    rf"Min Comm\.{_US}": "min_comm_us",
    rf"Max Comm\.{_US}": "max_comm_us",
    r"Overlap\s*\(%\)": "overlap_percent",
    rf"Min Latency{_US}": "min_latency_us",
    rf"Max Latency{_US}": "max_latency_us",
    r"Iterations": "iterations",
    r"Validation": "validation",
}
_PATTERNS = {
    re.compile(rf"\s*{title}(?=\s|$)"): name for title, name in _TITLES.items()
}
#: The columns that a kind of benchmark begins with, after the size.
_OWN = {
    LATENCY: "latency_us",
    BANDWIDTH: "bandwidth_MBps",
    MESSAGE_RATE: "bandwidth_MBps message_rate_per_s",
    NON_BLOCKING: (
        "overall_us compute_us( coll_init_us mpi_test_us mpi_wait_us)? pure_comm_us"
        "( min_comm_us max_comm_us)? overlap_percent"
    ),
}
_ADDED = "( min_latency_us max_latency_us iterations)?( validation)?"


def read(line: str, line_number: int) -> tuple[str, ...]:
    """Return the names of the columns that a line of titles announces.

    :param line_number: of the line, for errors.
    :raises OutputError: if one of them is not a title of OSU.
    """
    text, names = line.strip().lstrip("#").rstrip(), []
    while text:
        for pattern, name in _PATTERNS.items():
            if match := pattern.match(text):
                names.append(name)
                text = text[match.end() :]
                break
        else:
            raise OutputError(
                f"{quoted(text.strip())} is not an OSU column title", line_number
            )
    return tuple(names)


def require(
    names: Sequence[str], kind: str, *, has_sizes: bool, line_number: int
) -> None:
    """Raise :class:`OutputError` unless the columns are those of a benchmark.

    :param kind: of benchmark, such as :data:`LATENCY`.
    :param has_sizes: whether its rows begin with a message size.
    :param line_number: of the line of titles, for errors.
    """
    own = ("size_B " if has_sizes else "") + _OWN[kind]
    if not re.fullmatch(own + _ADDED, " ".join(names)) or len(set(names)) < len(names):
        titles = " ".join(names) or "without titles"
        raise OutputError(
            f"the columns {titles} are not those of this benchmark, a test of {kind}",
            line_number,
        )
