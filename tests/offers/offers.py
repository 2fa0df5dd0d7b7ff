# SPDX-License-Identifier: BSD-3-Clause
"""A recorded offer, taken apart and packed anew with something changed in it, as a vendor could.

It is of a run of `local`: `ci/run --mode procurement -n '^(OsuLatency|HotSpot%layout=1x2|LammpsBench%problem=lj...)'`,
packed by `offers pack`; two of its five passes are left, and the paths of that machine are others.
"""

import json
import tempfile
from pathlib import Path

from fabric_offers import bundle_file, checking, recomputation, recomputing
from tests import loading

OFFER = Path(__file__).resolve().parent / "recorded" / "offer.tar"


def parts():
    """Return the facts of the manifest other than the files, and the files by name."""
    with tempfile.TemporaryDirectory() as folder:
        opened = bundle_file.unpack(OFFER, Path(folder))
        assert not opened.faults
        names = opened.manifest["files"]
        files = {name: (Path(folder) / name).read_bytes() for name in names}
    return {key: value for key, value in opened.manifest.items() if key != "files"}, files


def records(files):
    """Return the records of each perflog, by its name."""
    return {
        name: [json.loads(line) for line in text.splitlines()]
        for name, text in files.items()
        if name.startswith("perflogs/")
    }


def with_records(files, changed):
    """Return files with other records in the perflogs."""
    texts = {name: "".join(json.dumps(each) + "\n" for each in lines).encode() for name, lines in changed.items()}
    return {**files, **texts}


def in_process(what):
    """Recompute in this process."""
    loading.forget_checks()
    return json.loads(json.dumps(recomputing.recompute(**what)))


class Known:
    """Recomputes nothing a second time: what the genuine outputs say, by the place of a run."""

    def __init__(self):
        self.by_place = {}

    def __call__(self, what):
        keys = [Path(run["files"]).relative_to(Path(what["topology"]).parent) for run in what["runs"]]
        if not self.by_place:
            found = in_process(what)
            self.cases = found["cases"]
            self.by_place = dict(zip(keys, found["runs"], strict=True))
        lost = {"error": "the described system has no such case"}
        return {"cases": self.cases, "runs": [self.by_place.get(key, lost) for key in keys]}


def objections(folder, files, recompute=recomputation.recompute, facts=None, **options):
    """Pack files and return the objections of a check, as (kind, place, text)."""
    path = folder / "offer.tar"
    bundle_file.write(path, facts or parts()[0], files)
    found = checking.check(path, recompute=recompute, **options)
    return [(each.kind, each.location, each.text) for each in found.objections]
