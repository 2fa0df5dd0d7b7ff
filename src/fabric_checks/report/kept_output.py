# SPDX-License-Identifier: BSD-3-Clause
"""Read kept outputs of cases: the values of all pairs of nodes are only there, no record has them.

A record names the folder of its case's output, relative to the folder of results. Nothing outside of that is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.report.values import Value

#: The form of a name in a record that may become a part of a path.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
#: A larger file is no output of these programs.
_LARGEST_B = 200_000_000
NOT_KEPT = (
    "matrix not kept: the output of that run is not with the records, or is only a link to a file outside their folder"
)


class _Evaluated(Protocol):
    def metrics(self) -> dict[str, float]: ...


E = TypeVar("E", bound=_Evaluated)


def results_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of outputs: those of a folder of results, given itself or a file or folder of its perflogs.

    Outputs of cases that failed, also as expected, stay in ``stage``.
    """
    near = [folder for path in paths for folder in (path, *path.resolve().parents[:4])]
    found = [folder / name for folder in near for name in ("output", "stage")]
    # A link would lead to outputs that are not with the records.
    return list(dict.fromkeys(folder for folder in found if folder.is_dir() and not folder.is_symlink()))


def evaluated(series: Value, folders: Sequence[Path], evaluate: Callable[[str], E]) -> E | None:
    """Return the kept output of the last run of a series, evaluated; None if it is not kept or not whole.

    Where a case ran several times in a session only the last output is kept, so the value has to be the same.

    :param folders: of :func:`results_folders`. :param evaluate: turns the output into values.
    """
    parts = Path(series.record["output"] or "").parts[1:]
    if not parts or not all(_NAME.fullmatch(part) for part in parts):
        return None
    for folder in folders:
        try:
            found = evaluate(files.read_text(folder.joinpath(*parts, "rfm_job.out"), folder, _LARGEST_B))
        except (OSError, FabricError, ValueError):
            continue  # not there, not to be read, or not whole
        if math.isclose(found.metrics()[series.quantity], series.runs[-1][-1], rel_tol=1e-6):
            return found
    return None
