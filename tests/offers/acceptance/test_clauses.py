# SPDX-License-Identifier: BSD-3-Clause
"""Clauses as they are written, and each fault of one with its sentence."""

import copy

import pytest
import yaml

from fabric_checks.core.paths import ROOT
from fabric_offers.acceptance import clauses, document

EXAMPLES = sorted((ROOT / "config/clauses").glob("*.yaml"))
VALUE = {
    "name": "bandwidth", "check": "OsuBandwidth", "metric": "bandwidth_1B", "good": 100, "bad": 90,
    "spread": 0.05, "most": 40,
}  # fmt: skip
PAIRS = {
    "name": "pairs",
    "check": "Rotate",
    "over": "pairs",
    "good": 0.95,
    "bad": 0.9,
    "spread": 0.02,
    "most": 40,
}
SHARE = {
    "name": "share", "check": "A", "metric": "t", "quantity": "share", "at_least": 3, "good": 0.95,
    "bad": 0.6, "most": 40,
}  # fmt: skip


def write(tmp_path, *each, **top):
    path = tmp_path / "c.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "title": "t",
                "system": "s",
                **top,
                "clauses": [copy.deepcopy(one) for one in each],
            }
        )
    )
    return path


def fault(tmp_path, *each, **top):
    """Return the sentence about wrong clauses; it is one line and names the file."""
    with pytest.raises(clauses.ClauseError) as caught:
        clauses.read(write(tmp_path, *each, **top))
    text = str(caught.value)
    assert "\n" not in text and text.startswith(str(tmp_path / "c.yaml"))
    return text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_decided(path):
    for clause in clauses.read(path).clauses:
        assert clause.design.most_units <= clause.most


def test_keys_at_the_top_are_those_of_every_clause(tmp_path):
    given = write(
        tmp_path, VALUE, {**PAIRS, "buyer_risk": 0.2}, seller_risk=0.1, correlation=0
    )
    one, two = clauses.read(given).clauses
    assert one.seller_risk == 0.1
    assert one.buyer_risk == 0.05
    assert one.correlation == 0
    assert (two.seller_risk, two.buyer_risk, two.larger_is_better) == (0.1, 0.2, True)


@pytest.mark.parametrize(
    "given, words",
    [
        (VALUE, "median of runs"),
        (
            {**PAIRS, "quantity": "quantile", "share": 0.995},
            "what 99.5 % of pairs reach",
        ),
        (
            {**SHARE, "at_least": None, "at_most": 5.0, "unit": "session"},
            "share of sessions with at most 5",
        ),
        (
            {**SHARE, "at_least": None, "free_of": ["port"]},
            "share of days without a fault of port",
        ),
        (
            {**VALUE, "of": {"value": 3, "source": "Table 1"}},
            "median of runs, of 3 (Table 1)",
        ),
        ({**VALUE, "of": {"layout": "2x1"}}, "median of runs, of another series"),
    ],
)
def test_a_quantity_is_written_in_words(tmp_path, given, words):
    (clause,) = clauses.read(write(tmp_path, given)).clauses
    assert document.quantity_text(clause) == words


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"spead": 1}, "spead: unknown; did you mean spread?"),
        (
            {"good": 90},
            "clause 'bandwidth': good and bad are both 90: no number of runs",
        ),
        ({"quantity": "quantile"}, "'share' goes with quantity: quantile"),
        (
            {"at_least": 3},
            "one of 'at_least', 'at_most' and 'free_of' goes with quantity: share",
        ),
        ({"least": 50}, "least is 50, but most is 40"),
        ({"of": "median"}, "of: median is that of all nodes or pairs of a run"),
        (
            {"of": {"value": 3, "layout": "2x1"}},
            "a value with its source, or the fields of another series is expected",
        ),
        (
            {"of": "line rate", "good": 2.5, "bad": 2},
            "good is 2.5 of the line rate, which no link carries",
        ),
        ({"one": ["mip"]}, "one: 0 is 'mip'; give one of mpi, compiler"),
    ],
)
def test_a_wrong_value_clause_is_named_with_its_remedy(tmp_path, changes, text):
    assert text in fault(tmp_path, {**VALUE, **changes})


@pytest.mark.parametrize(
    "given, text",
    [
        (
            {**PAIRS, "metric": "x"},
            "over: nodes and over: pairs take median, slowest or quantile",
        ),
        ({**PAIRS, "good": 1.2, "of": "line rate"}, "good is 1.2 of the line rate"),
        (
            {**PAIRS, "good": 130, "bad": 110, "link_MBps": 125},
            "beyond the line rate of 125 MB/s",
        ),
        ({**PAIRS, "layout": "1x8"}, "layout 1x8 has one node"),
        (
            {**SHARE, "good": 0.5},
            "'good' and 'bad' of a share have to be between 0 and 1",
        ),
        (
            {key: each for key, each in VALUE.items() if key != "most"},
            "'most' is missing",
        ),
        (
            {key: each for key, each in VALUE.items() if key != "spread"},
            "'spread' is missing",
        ),
        (
            {key: each for key, each in VALUE.items() if key != "metric"},
            "'metric' is missing",
        ),
    ],
)
def test_a_wrong_clause_of_pairs_or_shares_is_named(tmp_path, given, text):
    assert text in fault(tmp_path, given)


def test_risks_out_of_reach_are_refused_with_the_units_it_takes(tmp_path):
    text = fault(tmp_path, {**VALUE, "spread": 0.1, "most": 10})
    assert (
        "its risks, 5 % (seller) and 5 % (buyer), between 100 and 90 take 23 days, but most is 10: allow"
        in text
    )
    assert (
        clauses.read(write(tmp_path, {**VALUE, "spread": 0.1, "most": 23}))
        .clauses[0]
        .design.most_units
        <= 23
    )
    assert "take more than 1000 days" in fault(tmp_path, {**VALUE, "bad": 99.9})


def test_faults_of_the_whole_file_are_named(tmp_path):
    assert (
        "clauses is []; give a list, each a mapping (the clauses, at least one)"
        in fault(tmp_path)
    )
    assert "two clauses are called 'bandwidth'" in fault(tmp_path, VALUE, VALUE)
    assert "titel: unknown; did you mean title?" in fault(tmp_path, VALUE, titel="x")
    days = {
        name: clauses.date.fromisoformat(day)
        for name, day in (("from", "2026-02-01"), ("to", "2026-01-01"))
    }
    assert "the period ends before it begins" in fault(tmp_path, VALUE, period=days)
