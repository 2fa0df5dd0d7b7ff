# SPDX-License-Identifier: BSD-3-Clause
"""Write the files of a site without replacing any, and try them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.module_run import written_by
from fabric_checks.core.paths import ROOT
from fabric_checks.onboarding.facts import Mpi
from fabric_checks.onboarding.probe import Machine

CONFIG = ROOT / "config"


def is_free(name: str, config: Path = CONFIG) -> bool:
    """Tell whether a system can be called so: no file, no folder and no simulated system has the name."""
    paths = (
        f"systems/{name}.py",
        f"systems/{name}",
        f"references/{name}.yaml",
        f"twins/{name}.yaml",
    )
    return name != "twins" and not any((config / path).exists() for path in paths)


def write(files: Mapping[str, str], config: Path = CONFIG) -> list[Path]:
    """Write files below a folder, and return where they are; none if one is there already.

    :raises FabricError: if one is, or cannot be written.
    """
    paths = {config / name: text for name, text in files.items()}
    for path in filter(Path.exists, paths):
        raise FabricError(
            f"{path}: already exists and is left unchanged; nothing was written"
        )
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        raise FabricError(
            f"{error.filename}: {error.strerror}; delete what was written of this system below {config}"
        ) from None
    return list(paths)


def load_modules(machine: Machine, mpi: Mpi) -> str:
    """Load the modules of an MPI in a login shell, as jobs do; return what is wrong then, or nothing.

    Nothing is wrong if its compiler is on PATH.
    """
    load = f"module load {' '.join(mpi.modules)}"
    has_cc = (
        f"{{ command -v {mpi.cc} || {{ echo no {mpi.cc} is on PATH then; false; }}; }}"
    )
    text = machine.ask("bash", "--login", "-c", f"{{ {load} && {has_cc}; }} 2>&1")
    return f"`{load}`: {list(machine.asked.values())[-1]}" if text is None else ""


def cases_of(system: str, mpi: str) -> int:
    """Return how many cases a system has; ReFrame loads them, and runs none.

    :param mpi: which wheels are meant, as FABRIC_MPI has it.
    :raises FabricError: with ReFrame's own line, if they cannot be loaded, or there is none.
    """
    remedy = f"fix config/systems/{system}.py, or remove it"
    cases = written_by(
        "fabric_checks.reframe_ext.catalogue",
        system,
        failed=f"the cases of {system} cannot be loaded; {remedy}",
        FABRIC_MPI=mpi,
        FABRIC_STACK="",
        RFM_CONFIG_FILES="",
    )
    if not cases:
        raise FabricError(f"{system} has no case; {remedy}")
    return len(cases)
