# SPDX-License-Identifier: BSD-3-Clause
"""Hold the MPI of a concretized spec to what the library itself reports when it runs.

An external is what its scope says it is; Spack does not look. Whoever upgrades an MPI in place, under the same prefix,
has programs that run with another one than their spec says.
"""

from __future__ import annotations

import re

from fabric_checks.core.errors import quoted

_INTEL = r"Intel\(R\) MPI Library (\d[\w.]*)"

#: How MPI_Get_library_version begins, by the package in Spack. Others are not compared: HPC-X, for one, counts releases
#: of its own.
REPORTED = {
    "mpich": r"MPICH Version:\s*(\d[\w.]*)",
    "openmpi": r"Open MPI v(\d[\w.]*)",
    "intel-oneapi-mpi": _INTEL,
    "intel-mpi": _INTEL,
    "mvapich": r"MVAPICH2? Version\s*:\s*(\d[\w.]*)",
    "mvapich2": r"MVAPICH2? Version\s*:\s*(\d[\w.]*)",
    "cray-mpich": r"(?:MPI VERSION\s*:\s*)?CRAY MPICH version (\d[\w.]*)",
    "smpi": r"SMPI Version (\d+(?:\.\d+)*)",
}

#: These do not report the last number of their release.
COARSE = ("intel-oneapi-mpi", "intel-mpi")


def contradiction(spec: str, reported: str) -> str | None:
    """Return how the library contradicts a spec, in words, or None if it does not.

    :param spec: of the MPI in the lock, such as ``mpich@5.0.2``.
    :param reported: the first line of ``MPI_Get_library_version``.
    """
    name, _, release = spec.partition("@")
    if name not in REPORTED:
        return None
    match = re.match(REPORTED[name], reported.strip())
    if match and (_covers(release, match[1]) or (name in COARSE and _covers(match[1], release))):
        return None
    return (
        f"MPI: the program was built for {spec}, but the library that runs says {quoted(reported.strip())}; write the "
        "release and prefix of that library into the MPI's scope (packages.yaml, `externals` and `require`), or load "
        "the MPI that the scope names"
    )


def _covers(release: str, found: str) -> bool:
    """Tell whether a release is the one said, a patch release of it, or a candidate for it such as ``4.1.7a1``."""
    return re.fullmatch(rf"{re.escape(release)}(?:[.\-a-z].*)?", found) is not None
