# SPDX-License-Identifier: BSD-3-Clause
"""The check of all reference files: their systems are loaded side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import sched_getaffinity
from pathlib import Path

import polars as pl
from rich.progress import Progress

from fabric_checks.cli import choosing
from fabric_checks.core import console
from fabric_checks.core.errors import RecordError, ReferenceError
from fabric_checks.core.paths import results as results_folder
from fabric_checks.references import audit, cases, reference_file
from fabric_checks.references.reference_file import ReferenceFile


@dataclass(frozen=True)
class Checked:
    """The number of files read, and their faults, a line each."""

    files: int
    faults: list[str]


def check(folder: Path, systems: Sequence[str], sources: Sequence[str], *, progress: bool) -> Checked:
    """Check the files of some systems, or of all that have one.

    :param sources: results for what only history shows, as users name them; none: those of this clone, if
        there are any.
    :param progress: whether to show progress, if standard error is a terminal.
    :raises ReferenceError: if a named system has no file.
    """
    paths = [folder / f"{system}.yaml" for system in systems] or sorted(folder.glob("*.yaml"))
    faults: list[str] = []
    files: list[ReferenceFile] = []
    for path in paths:
        try:
            files.append(reference_file.load(path))
        except ReferenceError as error:
            faults.append(str(error))
    if not paths:
        raise ReferenceError(
            f"{folder}: there is no reference file *.yaml here; set RFM_REFERENCE_PREFIX to use another folder"
        )
    terminal = console.rich_console(console.err())
    with (
        Progress(console=terminal, disable=not (progress and terminal.is_terminal), transient=True) as bars,
        ThreadPoolExecutor(max(1, len(sched_getaffinity(0)))) as pool,
    ):
        bar = bars.add_task("loading the checks of each system", total=len(files))

        def of_cases(file: ReferenceFile) -> list[str]:
            try:
                catalogue = cases.of_system(file.path.stem, audit.index_items(file))
                own = [case for case in catalogue.cases if case.file == file.path.stem]
                return audit.of_file(file, catalogue.checks, own)
            except ReferenceError as error:
                return [f"{file.path}: {error}"]
            finally:
                bars.advance(bar)

        asked = [pool.submit(of_cases, file) for file in files]
        try:
            # The main thread learns of an interrupt when it wakes up, which another thread may have got.
            while wait(asked, timeout=0.5).not_done:
                pass
        finally:
            for future in asked:
                future.cancel()
        for future in asked:
            faults += future.result()
    if sources or any((results_folder() / "perflogs").glob("*")):
        faults += _of_history(files, sources)
    return Checked(len(paths), faults)


def _of_history(files: Sequence[ReferenceFile], sources: Sequence[str]) -> list[str]:
    try:
        loaded = choosing.load(sources, audit.COLUMNS)
    except RecordError as error:
        return [str(error)]
    faults = list(loaded.faults)
    for file in files:
        faults += audit.of_history(file, loaded.frame.filter(pl.col("system") == file.path.stem))
    return faults
