# SPDX-License-Identifier: BSD-3-Clause
"""Offers in an order: by hand where that can be, and what changes it."""

import json
import math

import polars as pl
import pytest
from click.testing import CliRunner

from fabric_checks.core.errors import RecordError
from fabric_checks.core.paths import ROOT
from fabric_offers import offer_ranking
from fabric_offers.cli import command
from tests.offers import offers

RULES = """
currency: EUR
criteria:
- {name: latency, check: OsuLatency, metric: latency_8B, weight: 1, at_most: 3}
- {name: bandwidth, check: OsuBandwidth, parameters: {benchmark: bw}, metric: bandwidth_1B, weight: 1}
price_weight: 2
prices: {oak: 100, elm: 200, fir: 100}
"""


def rules(tmp_path, text=RULES):
    path = tmp_path / "offers.yaml"
    path.write_text(text)
    return offer_ranking.read(path)


def frame(**sides):
    """Return records: for each side the values of latency and of bandwidth."""
    rows = []
    for side, (latencies, bandwidths) in sides.items():
        for test, metric, unit, better, values in (
            ("OsuLatency %layout=2x1", "latency_8B", "us", "smaller", latencies),
            (
                "OsuBandwidth %benchmark=bw %layout=2x1",
                "bandwidth_1B",
                "MB/s",
                "larger",
                bandwidths,
            ),
            (
                "OsuBandwidth %benchmark=bibw %layout=2x1",
                "bandwidth_1B",
                "MB/s",
                "larger",
                [1e9],
            ),
        ):
            own = {
                "side": side,
                "test": test,
                "check": test.partition(" ")[0],
                "metric": metric,
                "unit": unit,
            }
            own |= {"better": better, "layout": "2x1", "case_result": "pass"}
            rows += [{**own, "value": float(value)} for value in values]
    return pl.DataFrame(rows)


def test_scores_are_those_by_hand(tmp_path):
    """Oak has half the bandwidth and half the price: with 1 : 1 : 2 it scores 2^(-1/4), elm 4^(-1/4)."""
    found = offer_ranking.rank(
        rules(tmp_path), frame(oak=([2, 2, 2], [50]), elm=([2], [100])), ["elm", "oak"]
    )
    assert [offer.label for offer in found] == ["oak", "elm"]
    assert [offer.score for offer in found] == [
        pytest.approx(2**-0.25),
        pytest.approx(4**-0.25),
    ]
    # Bandwidth would have to count as much as the price; the price as little as the bandwidth.
    assert found[0].first_by_runs == 1


def test_the_order_does_not_depend_on_other_offers(tmp_path):
    records = {"oak": ([2], [50]), "elm": ([1.5], [100]), "fir": ([0.1], [49])}
    few = offer_ranking.rank(rules(tmp_path), frame(**records), ["oak", "elm"])
    all_of_them = offer_ranking.rank(rules(tmp_path), frame(**records), list(records))
    order = [offer.label for offer in all_of_them]
    assert [label for label in order if label != "fir"] == [
        offer.label for offer in few
    ]


def test_an_offer_that_misses_a_requirement_is_out(tmp_path):
    records = frame(oak=([4], [50]), elm=([2], []), fir=([2], [10]))
    found = offer_ranking.rank(rules(tmp_path), records, ["oak", "elm", "fir", "ash"])
    misses = {offer.label: offer.misses for offer in found}
    assert found[0].label == "fir" and not misses["fir"]
    assert misses["oak"] == ["latency: 4 us, but at most 3 is allowed"]
    assert misses["elm"] == ["bandwidth: not measured (OsuBandwidth bandwidth_1B)"]
    assert misses["ash"][-1] == "no price"


def test_noise_of_the_runs_is_seen(tmp_path):
    even = RULES.replace("elm: 200", "elm: 100")
    noisy = frame(oak=([1, 2, 3, 2, 1], [100]), elm=([1, 2, 3, 2, 1.01], [100]))
    found = offer_ranking.rank(rules(tmp_path, even), noisy, ["oak", "elm"])
    assert all(0.2 < offer.first_by_runs < 0.8 for offer in found)
    assert math.isclose(sum(offer.first_by_runs for offer in found), 1)


@pytest.mark.parametrize(
    "change",
    [
        ("weight: 1,", "weight: -1,"),
        ("weight: 1,", "weight: .nan,"),
        ("check: OsuLatency", "check: '['"),
        ("criteria:", "criterion:"),
        ("name: bandwidth", "name: latency"),
        ("currency", "colour"),
        ("elm: 200", "elm: 0"),
        ("at_most", "atmost"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path, change):
    with pytest.raises(RecordError, match=r"offers\.yaml"):
        rules(tmp_path, RULES.replace(*change, 1))


def test_the_template_can_be_read():
    found = offer_ranking.read(ROOT / "docs/offers.yaml")
    assert len(found.criteria) == 4 and found.prices == {"oak": 1660000, "elm": 1710000}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_bundles_are_ranked(tmp_path, options):
    """The recorded offer, twice: neither is better."""
    path = tmp_path / "offers.yaml"
    path.write_text(
        "criteria: [{name: latency, check: OsuLatency, metric: latency_8B, weight: 1}]\n"
        "price_weight: 1\nprices: {'<b>': 1, elm: 2}\n"
    )
    sources = (f"<b>={offers.OFFER}", f"elm={offers.OFFER}")
    done = CliRunner().invoke(command, ["rank", str(path), *sources, *options])
    assert done.exit_code == 0, done.output
    if options:
        assert [each["score"] for each in json.loads(done.output)["offers"]] == [
            1,
            pytest.approx(2**-0.5),
        ]
    else:
        assert "0.707" in done.output and "<b>" in done.output
