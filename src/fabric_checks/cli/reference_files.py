# SPDX-License-Identifier: BSD-3-Clause
"""The check of all reference files: the checks of their systems are loaded in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import sched_getaffinity
from pathlib import Path

from rich.progress import Progress

from fabric_checks.core import console
from fabric_checks.core.errors import ReferenceError
from fabric_checks.references import audit, cases, reference_file
from fabric_checks.references.reference_file import ReferenceFile


@dataclass(frozen=True)
class Checked:
    """The number of files read, and their faults, a line each."""

    files: int
    faults: list[str]


def check(folder: Path, systems: Sequence[str], *, progress: bool) -> Checked:
    """Check the files of some systems, or of all that have one.

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
    return Checked(len(paths), faults)
