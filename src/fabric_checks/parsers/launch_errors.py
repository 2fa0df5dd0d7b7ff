# SPDX-License-Identifier: BSD-3-Clause
"""What launchers print when a program could not start, for which no node is at fault."""

from __future__ import annotations

import re

#: A pattern of a line of standard error, and what it means.
KNOWN = (
    (
        re.compile(r"\bmpi/pmi2: (?:request not begin with 'cmd='|invalid client request)"),
        "MPICH could not start, which is not the fault of a node: Slurm's PMI takes 1024 bytes a line and cut a "
        "longer one (MPICH's issue 6924); an MPICH with PMIx, under `srun --mpi=pmix`, has no such limit",
    ),
)


def known(text: str) -> str | None:
    """Return what is known of an error of a launch; None if nothing is.

    :param text: what the job wrote to standard error.
    """
    return next((cause for pattern, cause in KNOWN if pattern.search(text)), None)
