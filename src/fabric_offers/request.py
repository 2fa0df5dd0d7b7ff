# SPDX-License-Identifier: BSD-3-Clause
"""Write the buyer's bundle: one file with all that a vendor needs to run a level."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.core.git import git
from fabric_checks.core.levels import LEVELS
from fabric_offers import bundle_file

#: The key of a request's manifest with its number, which no other has, and that of an offer's which repeats
#: it.
NUMBER, REPEATED = "number", "request"

_RULES = """# What is asked for

Run the level `{level}` of fabric-checks at commit {commit} on the system that you offer, and send back
one file.

1. Get the collection. It is in `collection.git-bundle`, at the requested commit:

       tar xf {name}
       git clone collection.git-bundle fabric-checks
       cd fabric-checks

2. Describe the system. After `. ci/env.sh`, `fabric-checks init` writes `config/systems/NAME.py` and
   `config/references/NAME.yaml`; or fill in a copy of `config/systems/generic.py`
   (`docs/adding-a-system.md`). Write the rate of a link (`link_MBps`) and the number of adapters (`nics`) as
   offered. Do not change a file that is in the collection, and add none to `checks`, `ci` or `src`.

3. Run it. The level itself includes {passes} of every case:

       ci/run --mode {level} --system NAME

   Failures do not count against you: fix the cause, run again, and say what it was. Earlier runs go into the
   file too.

4. Pack it:

       . ci/env.sh
       fabric-checks offers pack offer.tar --system NAME --level {level} \\
           --request ../{name} --key ~/.ssh/id_ed25519

   Runs that began before this request was made are asked about.

   The file has every record, output and job script of the system's runs, and the description of the system.
   With `--key` it is signed; send the public key by another route.

`fabric-checks offers check` recomputes every value from the outputs, and lists what was changed, left out,
run with other options, versions or placements, in fewer passes, or more often than asked for. You can run it
before you send the file. Expect questions about whatever it lists.

The commit pins what is installed.
"""


def make(
    path: Path, *, level: str, sign: Callable[[bytes], bytes] | None = None
) -> dict[str, Any]:
    """Write the bundle, and return its manifest.

    :raises FabricError: if this is no clone.
    """
    commit = git("rev-parse", "HEAD").strip()
    passes = LEVELS[level].passes
    rules = _RULES.format(
        level=level,
        commit=commit,
        name=path.name,
        passes=f"{passes} passes" if passes > 1 else "one pass",
    )
    with tempfile.TemporaryDirectory() as scratch:
        collection = Path(scratch) / "collection.git-bundle"
        git("bundle", "create", "--quiet", str(collection), "HEAD")
        members: dict[str, Path | bytes] = {
            "collection.git-bundle": collection,
            "RULES.md": rules.encode(),
        }
        facts = {
            "kind": bundle_file.REQUEST,
            "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "commit": commit,
            NUMBER: secrets.token_hex(16),
            "level": level,
        }
        return bundle_file.write(path, facts, members, sign)


def blobs(commit: str) -> dict[str, str]:
    """Return git's hash of every file of a commit."""
    lines = git("ls-tree", "-r", "-z", commit).split("\0")
    return {
        name: entry.split()[2]
        for line in lines
        if line
        for entry, name in [line.split("\t", 1)]
    }
