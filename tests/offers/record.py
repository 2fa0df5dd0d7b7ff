# SPDX-License-Identifier: BSD-3-Clause
"""Make the recorded offer of a real one, where job scripts or records have changed: smaller, with paths of
nobody.

FABRIC_RESULTS=/tmp/results ci/run --mode procurement --reruns=1 -n
'^(OsuLatency|HotSpot|LammpsBench%problem=lj)' fabric-checks offers pack offer.tar --system local --results
/tmp/results python -m tests.offers.record offer.tar
"""

import json
import sys
import tempfile
from pathlib import Path

from fabric_checks.core.paths import ROOT, home
from fabric_offers import bundle_file
from tests.offers.offers import OFFER

#: The folders of whoever recorded it, and what stands for them; and for the commit, which no clone is to
#: have.
CLONE, COMMIT = "/home/me/fabric-checks", "0123456789abcdef" * 2 + "01234567"
FOLDERS = {
    str(home()): f"{CLONE}/.fabric",
    "/tmp/results": f"{CLONE}/.fabric/results",
    str(ROOT): CLONE,
}


def slimmer(name, text, commit):
    """Return the content of a file without what no check looks at."""
    content = json.loads(text) if name.endswith(".json") else None
    if name == "collection.json":
        content["files"] = {
            key: each
            for key, each in content["files"].items()
            if key.startswith("config/")
        }
    slim = text if content is None else json.dumps(content, indent=1).encode()
    for folder, other in (FOLDERS | {commit: COMMIT, commit[:12]: COMMIT[:12]}).items():
        slim = slim.replace(folder.encode(), other.encode())
    return slim


def main():
    """Write the recorded offer."""
    with tempfile.TemporaryDirectory() as folder:
        opened = bundle_file.unpack(Path(sys.argv[1]), Path(folder))
        left_out = ("logs/", "reports/", "collection.diff")
        names = [
            name for name in opened.manifest["files"] if not name.startswith(left_out)
        ]
        commit = json.loads((Path(folder) / "collection.json").read_text())["commit"]
        files = {
            name: slimmer(name, (Path(folder) / name).read_bytes(), commit)
            for name in names
        }
    facts = {
        key: value
        for key, value in opened.manifest.items()
        if key not in ("files", "collection")
    }
    bundle_file.write(OFFER, facts, files)


if __name__ == "__main__":
    main()
