# SPDX-License-Identifier: BSD-3-Clause
"""Values are recomputed in a process of its own, with the collection of the offer."""

import json

from fabric_offers import recomputation, request
from tests.offers import offers


def test_values_are_recomputed_at_the_commit_of_the_offer(tmp_path):
    """At one that this clone has; where it does not have it, with this collection, and the scripts are not compared."""
    asked = {"system": json.loads(offers.parts()[1]["system.json"]), "folder": str(tmp_path), "topology": str(tmp_path)}
    asked |= {"level": "procurement", "runs": []}
    head = request.git("rev-parse", "HEAD").strip()
    for commit, at in ((head, head), ("0" * 40, None), ("--output=x", None)):
        found = recomputation.recompute(asked, commit)
        assert (found["at"], found["form"]) == (at, recomputation.FORM) and found["cases"]
