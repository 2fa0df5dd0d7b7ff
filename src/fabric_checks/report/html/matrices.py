# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of ``rotate`` and ``latency_map`` beside their records: the matrix of pairs is only there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.diagnosis.cross_section import evaluation as cross_section
from fabric_checks.diagnosis.latency_map import evaluation as latency_map
from fabric_checks.report.html.values import Value

#: What a name in a record has to be to become a part of a path.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
#: A larger file is no output of rotate.
_LARGEST_B = 200_000_000


def roots(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of outputs of sources, in a folder of results or beside its perflogs.

    Outputs of cases that failed, also as expected, stay in ``stage``.
    """
    near = [folder for path in paths for folder in (path, *path.resolve().parents[:4])]
    found = [folder / name for folder in near for name in ("output", "stage")]
    # A link would lead to outputs that are not beside the records.
    return list(dict.fromkeys(folder for folder in found if folder.is_dir() and not folder.is_symlink()))


def matrix_of(median: Value, folders: Sequence[Path]) -> cross_section.Report | None:
    """Return the analysed output of the last run of a series of ``Rotate``, or None if it is not kept.

    :param median: the series of the metric ``median_bandwidth``. :param folders: of :func:`roots`.
    """
    for text in _outputs(median, folders):
        try:
            found = cross_section.of_text(text, link_MBps=median.record["link_MBps"])
        except (FabricError, ValueError):
            continue  # not whole
        # Of a case that ran several times in a session, the last output is kept.
        if math.isclose(found.metrics()["median_bandwidth"], median.runs[-1][-1], rel_tol=1e-6):
            return found
    return None


def latencies_of(median: Value, folders: Sequence[Path]) -> latency_map.Report | None:
    """Return the same of ``LatencyMap``.

    :param median: the series of the metric ``median_latency``. :param folders: of :func:`roots`.
    """
    for text in _outputs(median, folders):
        try:
            found = latency_map.of_text(text)
        except (FabricError, ValueError):
            continue  # not whole
        if math.isclose(found.metrics()["median_latency"], median.runs[-1][-1], rel_tol=1e-6):
            return found
    return None


def _outputs(series: Value, folders: Sequence[Path]) -> Iterator[str]:
    """Yield the text of each output that may be that of the last run of a series."""
    parts = Path(series.record["output"] or "").parts[1:]
    if not parts or not all(_NAME.fullmatch(part) for part in parts):
        return
    for folder in folders:
        try:
            yield files.read_text(folder.joinpath(*parts, "rfm_job.out"), folder, _LARGEST_B)
        except (OSError, FabricError, ValueError):
            continue  # not there, or not to be read
