# SPDX-License-Identifier: BSD-3-Clause
"""Known launch failures that are not the fault of a node, by the standard error of the job."""

from __future__ import annotations

import re

#: Patterns of lines of standard error, each with its cause.
KNOWN = (
    (
        re.compile(r"\bmpi/pmi2: (?:request not begin with 'cmd='|invalid client request)"),
        "MPICH could not start, which is not the fault of a node: Slurm's PMI takes 1024 bytes a line and cut a "
        "longer one (MPICH's issue 6924); an MPICH with PMIx, under `srun --mpi=pmix`, has no such limit",
    ),
)


def known(text: str) -> str | None:
    """Return the cause of a failed launch; None if it is unknown.

    :param text: the standard error of the job.
    """
    return next((cause for pattern, cause in KNOWN if pattern.search(text)), None)
