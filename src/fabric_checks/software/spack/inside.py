# SPDX-License-Identifier: BSD-3-Clause
"""Questions about an environment that only Spack itself can answer; the answer is one line of JSON.

`spack -e ENVIRONMENT python inside.py QUESTION` runs it, with Spack's Python and nothing of this library:

configured the configuration as all scopes together give it, those of the instance and of conditional includes too: the
           package repositories by their names, the mirrors, and the folder of the builds.
installed  every package of the lock that the built programs need to run: its prefix, its lost files, and whether it was
           taken from a build cache.
"""

import json
import sys
from pathlib import Path
from typing import Any

import spack
import spack.config
import spack.environment
import spack.repo
import spack.stage
import spack.traverse
import spack.verify

#: The differences from the manifest that make another file; owners, modes and times change with a copy.
LOST = {"deleted", "size", "hash", "link", "manifest missing", "manifest corrupted"}


def configured() -> object:
    """Return the configuration."""
    return {
        "repositories": {each.namespace: each.root for each in spack.repo.PATH.repos},
        "mirrors": spack.config.get("mirrors"),
        "stage": spack.stage.get_stage_root(),
    }


def installed() -> object:
    """Return the state of each package."""
    roots = spack.environment.active_environment().concrete_roots()
    nodes = spack.traverse.traverse_nodes(roots, deptype=("link", "run"))
    return [
        {
            "name": spec.name,
            "hash": spec.dag_hash(),
            "prefix": str(spec.prefix),
            "lost": lost(spec),
            "cached": Path(spec.prefix, ".spack", "binary_distribution").exists(),
        }
        for spec in nodes
        if not spec.external
    ]


def lost(spec: Any) -> object:
    """Return the files of a package that are not as they were installed."""
    if not Path(spec.prefix).is_dir():
        return [str(spec.prefix)]
    errors = spack.verify.check_spec_manifest(spec).errors
    return sorted(path for path, faults in errors.items() if LOST & set(faults))


if __name__ == "__main__":
    print(json.dumps({"configured": configured, "installed": installed}[sys.argv[-1]](), default=str))
