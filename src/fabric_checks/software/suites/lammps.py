# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS, with the inputs of its bench folder."""

from __future__ import annotations

import os

from fabric_checks.core.paths import sound_path
from fabric_checks.software.suite import VIEW, Package, Program, Suite


def installed(
    prefix: str, version: str, inputs: str = "", folder: str = "bin"
) -> Program:
    """Describe an installation.

    :param prefix: the folder that it was installed in.
    :param inputs: the bench folder, with in.lj and the others; releases since 2023 install it below the
        prefix.
    :param folder: where below the prefix ``lmp`` is.
    """
    command = "/".join(filter(None, (prefix, folder, "{benchmark}")))
    return SUITE.program(
        command, version, inputs=inputs or f"{prefix}/share/lammps/bench"
    )


def _inputs() -> str:
    """Return the folder of the inputs if the user names one: releases before 2023 install none.

    :raises FabricError: if its path cannot be in a job script.
    """
    given = os.environ.get("FABRIC_LAMMPS_INPUTS")
    return str(sound_path("FABRIC_LAMMPS_INPUTS", given)) if given else ""


def _built(_requirement: str, version: str) -> Program:
    return installed(VIEW, version, _inputs())


def _proof(_requirement: str) -> list[str]:
    return ["bin/lmp", *([] if _inputs() else ["share/lammps/bench/in.lj"])]


SUITE = Suite(
    "lammps",
    "LAMMPS",
    keys={"inputs": "the folder with in.lj and the other inputs"},
    package=Package("lammps", _built, _proof),
)
