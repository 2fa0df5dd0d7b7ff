# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the documents as clauses: met by the twin of their own cluster, and refused by the
others."""

import json

import pytest

from fabric_checks.core.paths import ROOT
from fabric_checks.records.record import FIELDS
from fabric_offers.acceptance import clause_verdicts, clauses
from fabric_offers.acceptance.sequential import MET, VIOLATED
from tests.conftest import TESTS

RECORDS = [
    dict.fromkeys(FIELDS) | json.loads(line)
    for line in (TESTS / "report/twins.jsonl").read_text().splitlines()
]


def verdicts(tmp_path, name, twin):
    """Judge the clauses of an example of which the records of the twins have values, by another twin."""
    path = ROOT / f"config/clauses/{name}.yaml"
    own = clauses.read(path)
    given = next(clause.select["partition"] for clause in own.clauses)
    changed = tmp_path / path.name
    changed.write_text(
        path.read_text().replace(f"partition: {given}\n", f"partition: {twin}\n")
    )
    found = clause_verdicts.judge(clauses.read(changed), RECORDS, tmp_path)
    return [each.word for each in found if each.clause.select["check"] == "Streaming"]


SAND = ("cbc", "red-squall", "escher")


@pytest.mark.parametrize("twin", SAND)
@pytest.mark.parametrize("offer", SAND)
def test_the_tables_of_sand_are_met_by_their_own_twin_only(tmp_path, offer, twin):
    words = set(verdicts(tmp_path, f"sand-{offer}", twin))
    assert words == {MET} if offer == twin else VIOLATED in words


@pytest.mark.parametrize(
    "name, own, others",
    [
        ("dyna", "itanium2-ib", ("itanium2-gige", "rogue-gige")),
        ("rotate-feynman", "feynman", ("rogue-myrinet", "rogue-gige")),
        ("rotate-rogue-myrinet", "rogue-myrinet", ("feynman", "rogue-gige")),
    ],
)
def test_rates_of_pairs_and_networks_are_met_by_their_own_twin_only(
    tmp_path, name, own, others
):
    assert set(verdicts(tmp_path, name, own)) == {MET}
    for twin in others:
        assert VIOLATED in verdicts(tmp_path, name, twin), twin
