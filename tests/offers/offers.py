# SPDX-License-Identifier: BSD-3-Clause
"""A recorded offer, taken apart and packed anew with something changed in it, as a vendor could.

It is of a run of `local`; `record.py` has made it of what `offers pack` packed, and says when to make it
again.
"""

import json
import os
import tempfile
from pathlib import Path
from unittest import mock

from fabric_offers import bundle_file, offer_check, recomputation, recomputation_run
from tests import builders, loading

OFFER = Path(__file__).resolve().parent / "recorded/offer.tar"


def parts():
    """Return the facts of the manifest other than the files, and the files by name."""
    with tempfile.TemporaryDirectory() as folder:
        opened = bundle_file.unpack(OFFER, Path(folder))
        assert not opened.faults
        names = opened.manifest["files"]
        files = {name: (Path(folder) / name).read_bytes() for name in names}
    return {
        key: value for key, value in opened.manifest.items() if key != "files"
    }, files


def records(files):
    """Return the records of each perflog, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        return {
            name: builders.records_in(builders.write(path, [text]))
            for name, text in files.items()
            if name.startswith("perflogs/")
        }


def with_records(files, changed):
    """Return files with other records in the perflogs."""
    return {**files, **{name: builders.text_of(*of) for name, of in changed.items()}}


def in_process(what, commit):
    """Recompute in this process, as if this were the collection at a commit."""
    loading.forget_checks()
    with mock.patch.dict(
        os.environ, RFM_REFERENCE_PREFIX=recomputation.references_of(what)
    ):
        return {
            **json.loads(json.dumps(recomputation_run.recompute(**what))),
            "at": commit,
        }


class Known:
    """Recomputes nothing a second time: what the genuine outputs say, by the place of a run."""

    def __init__(self):
        self.by_place = {}
        offer_check.check(OFFER, recompute=self._recompute)

    def _recompute(self, what, commit):
        self.found = in_process(what, commit)
        self.by_place = dict(zip(_places(what), self.found["runs"], strict=True))
        return self.found

    def __call__(self, what, commit):
        lost = {"error": "the described system has no such case"}
        runs = [self.by_place.get(place, lost) for place in _places(what)]
        return {**self.found, "runs": runs}


def _places(what):
    """Return where the files of each run are in the offer."""
    folder = Path(what["topology"]).parent
    return [Path(run["files"]).relative_to(folder) for run in what["runs"]]


def objections(folder, files, recompute=recomputation.recompute, facts=None, **options):
    """Pack files and return the objections of a check, as (kind, place, text)."""
    path = folder / "offer.tar"
    bundle_file.write(path, facts or parts()[0], files)
    found = offer_check.check(path, recompute=recompute, **options)
    return [(each.kind, each.location, each.text) for each in found.objections]
