# SPDX-License-Identifier: BSD-3-Clause
"""The container image that a partition or an environment names for its programs."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.extras import (
    BY_COMMAND,
    BY_LAUNCHER,
    Container,
    EnvironExtras,
    Extras,
)
from fabric_checks.software.spack import lock

#: The key of the extras of partitions and environments.
KEY = "container"


def of(partition: Any, environ: Any) -> Container | None:
    """Return the container of an environment in a partition of ReFrame's: what the environment says comes
    first.

    :returns: None if neither names an image.
    :raises FabricError: if the description is malformed, or names no platform.
    """
    given: dict[str, Any] = {}
    for own in (Extras.of(partition).container, EnvironExtras.of(environ).container):
        given |= {key: each for key, each in asdict(own).items() if each} if own else {}
    if "image" not in given:
        return None
    where = f"{environ.name} in {partition.fullname}: extras: {KEY}"
    if "platform" not in given:
        raise FabricError(
            f"{where} has no platform; choose from {', '.join((*BY_COMMAND, *BY_LAUNCHER))}"
        )
    found = Container(**given)
    name, _, release = found.mpi.partition("@")
    if found.mpi and (name not in lock.REPORTED or not release):
        raise FabricError(
            f"{where}: mpi is {found.mpi!r}; write NAME@RELEASE with a name of {', '.join(lock.REPORTED)}"
        )
    return found


def other_mpi(container: Container | None, reported: str | None) -> str:
    """Return a message if the MPI that runs inside is not the declared one; an empty one if it is.

    :param reported: the first line of ``MPI_Get_library_version`` of a program inside.
    """
    declared = container.mpi if container else ""
    if not (declared and reported and lock.contradiction(declared, reported)):
        return ""
    return (
        f"MPI: {reported.strip()} runs inside {container}, but `mpi` of its environment is {declared};"
        " name the image that has it, or correct `mpi`"
    )


def digest_here(container: Container) -> str | None:
    """Return the digest of an image that is a file, or that is named by its digest; None of any other.

    An EDF is a file that names the image: of that nothing is known.
    """
    image = os.path.expandvars(container.image)
    if by_digest := re.search(r"@(sha256:[0-9a-f]{64})$", image):
        return by_digest[1]
    path = Path(image)
    is_image = container.platform != "EDF" and path.is_file()
    is_readable = is_image and os.access(path, os.R_OK)
    return _sha256(path, path.stat().st_mtime_ns) if is_readable else None


@lru_cache(maxsize=64)
def _sha256(path: Path, _changed_ns: int) -> str:
    """Return the digest of a file, which is read once in a session: images have gigabytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"
