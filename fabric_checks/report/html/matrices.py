# SPDX-License-Identifier: BSD-3-Clause
"""The outputs that ``rotate`` and ``latency_map`` left beside their records: the matrix of pairs is only there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks import files
from fabric_checks.analysis.cross_section import evaluation as cross_section
from fabric_checks.analysis.latency_map import evaluation as latency_map
from fabric_checks.errors import FabricError
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


def link_of(record: Mapping[str, Any]) -> float | None:
    """Return the rate of a link in MB/s that a run was judged by, as its findings say it; None if they do not."""
    try:
        listed = json.loads(record["findings"] or "[]")
        found = [float(item["link_MBps"]) for item in listed if item.get("kind") == "plateaus"]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    return found[0] if found and math.isfinite(found[0]) and found[0] > 0 else None


def _outputs(first: Value, check: str, folders: Sequence[Path]) -> Iterator[str]:
    """Yield the text of each output that may be that of the last run of a series: records do not say which it is."""
    record = first.record
    parts = [first.runs[-1][1], *(str(record[name]) for name in ("system", "partition", "environ"))]
    if not all(_NAME.fullmatch(part) for part in parts):
        return
    for folder in folders:
        for path in sorted(folder.joinpath(*parts).glob(f"{check}*/rfm_job.out")):
            try:
                if not path.is_symlink():
                    yield files.read_text(path, folder, _LARGEST_B)
            except (OSError, FabricError, ValueError):
                continue  # not to be read: then it is not the one


def latencies_of(median: Value, folders: Sequence[Path]) -> latency_map.Report | None:
    """Return the analysed output of the last run of a series of ``LatencyMap``, or None if it is not kept.

    :param median: the series of the metric ``median_latency``. :param folders: of :func:`roots`.
    """
    for text in _outputs(median, "LatencyMap", folders):
        try:
            found = latency_map.of_text(text)
        except (FabricError, ValueError):
            continue  # of another case, or not whole: then it is not the one
        output = found.output
        same = (len(output.hosts), list(dict.fromkeys(output.hosts)))
        if same == (median.record["tasks"], median.record["nodelist"]) and math.isclose(
            found.metrics()["median_latency"], median.runs[-1][2], rel_tol=1e-6
        ):
            return found
    return None


def matrix_of(median: Value, folders: Sequence[Path]) -> cross_section.Report | None:
    """Return the analysed output of the last run of a series of ``Rotate``, or None if it is not kept.

    The record does not say in which folder the output is; it is the one whose median bandwidth is the record's.

    :param median: the series of the metric ``median_bandwidth``. :param folders: of :func:`roots`.
    """
    record = median.record
    for text in _outputs(median, "Rotate", folders):
        try:
            found = cross_section.of_text(text, link_MBps=link_of(record))
        except (FabricError, ValueError):
            continue  # of another case, or not whole: then it is not the one
        output = found.output
        ran = (output.pattern, len(output.hosts), list(dict.fromkeys(output.hosts)))
        same = ran == (median.parameters.get("pattern"), record["tasks"], record["nodelist"])
        if same and math.isclose(found.metrics()["median_bandwidth"], median.runs[-1][2], rel_tol=1e-6):
            return found
    return None
