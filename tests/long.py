# SPDX-License-Identifier: BSD-3-Clause
"""The tests that take long: they have the mark ``long``, and ``ci/test --all`` runs them, not ``ci/test``.

A module or a folder is here if shorter tests of ``ci/test`` hold the same. In test_pages.py only the walk has
the mark.
"""

from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
#: Modules and folders, and the shorter tests of the same.
LONG = {
    "cluster": "a cluster of namespaces, in many ways; cluster/test_running.py runs a session on one",
    "pipelines": "pipelines as their own tools run them; their commands are those of tests/ci",
    "fabric_map/test_real_opensm.py": "OpenSM's routes; test_tools.py has what it printed once",
    "twins": "simulations of every twin; the golden set has one, and what is quick is kept",
}
#: What of these folders is not long.
NOT_LONG = (
    "cluster/test_running.py",
    "twins/model",
    "twins/test_plan.py",
    "twins/test_replay.py",
    "twins/test_what_if.py",
    "twins/test_processes.py",
    "twins/test_smpirun.py",
    "twins/test_reference_file.py",
    "twins/test_published_table.py",
    "twins/test_section6.py",
    "twins/test_smpi_prefix.py",
)


@cache
def is_long(path: Path) -> bool:
    """Return whether a module of tests takes long."""
    parents = (path, *path.parents)
    return any(TESTS / name in parents for name in LONG) and not any(
        TESTS / name in parents for name in NOT_LONG
    )
