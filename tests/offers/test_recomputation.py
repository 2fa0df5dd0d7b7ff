# SPDX-License-Identifier: BSD-3-Clause
"""Values are recomputed in a process of its own, with the collection of this clone."""

import json

from fabric_checks.records import sessions
from fabric_offers import recomputation
from tests.offers import offers


def test_values_are_recomputed_and_whether_this_is_the_commit_asked_for(
    tmp_path, monkeypatch
):
    """A changed clone is not at its commit: then job scripts are not compared."""
    asked = {
        "system": json.loads(offers.parts()[1]["system.json"]),
        "folder": str(tmp_path),
        "topology": str(tmp_path),
    }
    asked |= {"level": "procurement", "runs": []}
    head = "0123456789ab" + "0" * 28
    for version, at in ((f"1+g{head[:12]}", head), (f"1+g{head[:12]}.dirty", None)):
        monkeypatch.setattr(
            sessions, "collection_version", lambda version=version: version
        )
        found = recomputation.recompute(asked, head)
        assert found["at"] == at and found["cases"]


def test_values_are_the_same_up_to_the_last_digits_of_numbers():
    assert recomputation.same({"a": [1.0, "x", None]}, {"a": [1.0 + 1e-15, "x", None]})
    for one, two in (
        ([1.0], [1.1]),
        ([1], [1, 1]),
        ([1], "1"),
        ([1], {"0": 1}),
        (True, 1),
        (None, 0),
    ):
        assert not recomputation.same(one, two) and not recomputation.same(two, one)
