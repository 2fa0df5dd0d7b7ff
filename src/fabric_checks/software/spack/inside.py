# SPDX-License-Identifier: BSD-3-Clause
"""What only Spack itself knows of an environment, printed as one line of JSON.

`spack -e ENVIRONMENT python inside.py QUESTION` runs it, with Spack's Python and nothing of this library:

decides    what a build depends on: Spack's release, the configuration as all its scopes together give it, those of the
           instance and of conditional includes too, and the package repositories. And where it builds.
installed  every package of the lock that the built programs need to run: its prefix, what is lost of it, and whether it
           was taken from a build cache.
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

#: What a manifest may say of a file that makes it another one; owners, modes and times change with a copy.
LOST = {"deleted", "size", "hash", "link", "manifest missing", "manifest corrupted"}


def decides() -> object:
    """Return what a build depends on."""
    return {
        "release": spack.get_version(),
        "config": {name: spack.config.get(name) for name in sorted(spack.config.SECTION_SCHEMAS)},
        "repositories": [[each.namespace, each.root] for each in spack.repo.PATH.repos],
        "stage": spack.stage.get_stage_root(),
    }


def installed() -> object:
    """Return what stands of each package."""
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
    print(json.dumps({"decides": decides, "installed": installed}[sys.argv[-1]](), default=str))
