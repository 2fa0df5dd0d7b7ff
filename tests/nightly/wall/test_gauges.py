# SPDX-License-Identifier: BSD-3-Clause
"""The gauges of nights and vets, as Prometheus' own parser reads them."""

import pytest
from prometheus_client import parser

from fabric_checks.core.metrics import UNITS
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly import journal
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.nightly.wall import gauges
from tests.nightly.samples import acknowledged, finding, night, record

#: A name that a file, a query, a page or a chat could stumble over.
HOSTILE = 'a "quoted" back\\slash/, é {x="y"} # EOF\n<script>\x1b[31m\ud800 @all'
SHOWN = 'a "quoted" back\\slash/, é {x="y"} # EOF <script>?[31m? @all'


def value(test="A", title="latency", **changes):
    headline = {"title": title, "quantity": "latency", "section": "pair", "order": 1}
    of = {
        "headline": headline,
        "reference": 2.0,
        "lower": None,
        "upper": 0.1,
        "layout": "2x1",
    }
    return record(test, **(of | {"parameters": {}} | changes))


def shown(folder, found, of="night"):
    """Write gauges; return the values that the file has by name and labels."""
    found.write(folder, of)
    families = parser.text_string_to_metric_families(
        (folder / f"fabric_checks_{of}_sys.prom").read_text()
    )
    return {
        (
            sample.name.removeprefix("fabric_checks_"),
            *sorted(sample.labels.items()),
        ): sample.value
        for each in families
        for sample in each.samples
    }


def of_night(folder, spent, records=(), before=()):
    return shown(
        folder, gauges.of_night(Summary(spent, journal.news(before, spent)), records)
    )


def having(found, name, **labels):
    """Return the values of a name by the labels that are not given."""
    return {
        tuple(
            label for key, label in key[1:] if key not in labels and key != "system"
        ): number
        for key, number in found.items()
        if key[0] == name and labels.items() <= dict(key[1:]).items()
    }


def test_a_night_shows_its_verdict_and_time(tmp_path):
    found = of_night(tmp_path, night(1, blind=("x",), simulated=True))
    assert having(found, "night_timestamp_seconds") == {
        (): 1767301200.0
    }  # 2026-01-01 21:00 UTC
    verdicts = having(found, "night_verdict")
    assert verdicts == {(each.value,): int(each is Verdict.BLIND) for each in Verdict}
    assert having(found, "night_blind") == {(): 1}
    assert having(found, "night_info") == {("nightly", "true"): 1}


def test_findings_have_kind_part_state_age_and_loss(tmp_path):
    first = night(
        1, finding(), finding("n7", sizes={"slow node us": 3}, title="node n7 is far")
    )
    far = journal.still_open([first])[1]
    late = finding("B", sizes={"case B": None}, title="B is late")
    later = night(2, first.findings[0], late, measured=("B",))
    found = of_night(tmp_path, later, before=[first, acknowledged(far)])
    since = having(
        found,
        "finding_since_timestamp_seconds",
        part="node n3",
        kind="own",
        state="open",
    )
    assert list(since.values()) == [1767301200.0]
    assert list(having(found, "finding_loss_ratio").values()) == [
        0.5
    ]  # a loss without a number is none
    excess = having(found, "finding_excess_seconds", part="node n7", kind="slow node")
    assert excess == {(far.id,): pytest.approx(3e-6)}
    assert having(
        found, "finding_since_timestamp_seconds", part="B", kind="case", state="new"
    )
    assert having(found, "night_findings") == {
        ("new",): 1, ("open",): 1, ("not looked at",): 0, ("acknowledged",): 1, ("closed",): 0,
    }  # fmt: skip


def test_headline_values_have_base_units_and_their_references(tmp_path):
    records = [
        value(value=1.5),
        value("B", "rate", unit="MB/s", value=3.0, result="fail"),
        value("C", "share", unit="%", value=50.0, reference=None),
        value("D", headline=None),
    ]
    found = of_night(tmp_path, night(1), records)
    assert having(found, "value_seconds", title="latency").popitem()[
        1
    ] == pytest.approx(1.5e-6)
    assert having(found, "reference_seconds", title="latency").popitem()[
        1
    ] == pytest.approx(2e-6)
    assert having(found, "value_bytes_per_second").popitem()[1] == 3e6
    assert having(found, "value_ratio").popitem()[1] == 0.5 and not having(
        found, "reference_ratio"
    )
    within = {
        dict(key[1:])["title"]: is_so
        for key, is_so in found.items()
        if key[0].startswith("value_with")
    }
    assert within == {"latency": 1, "rate": 0}


def test_every_unit_of_the_collection_has_a_base_unit():
    assert set(gauges.BASE_UNITS) == set(UNITS)


def test_nodes_are_counted_by_what_the_night_has_against_them(tmp_path):
    records = [
        record("A", nodelist=["n1", "n2", "n3"]),
        record("B", None, node_faults={"n9": "down"}, nodelist=["n9"]),
    ]
    found = of_night(tmp_path, night(1, finding(hosts=("n3",))), records)
    assert having(found, "night_nodes") == {
        ("not blamed",): 2,
        ("blamed",): 1,
        ("not seen",): 1,
    }


def test_a_vet_shows_its_counts_and_each_node_that_is_not_good(tmp_path):
    """Names that differ in what does not print are one."""
    words = {
        "n0": Word.GOOD,
        "n1": Word.SLOW,
        "n\x01": Word.NOT_SEEN,
        "n\x02": Word.NOT_SEEN,
    }
    found = shown(
        tmp_path,
        gauges.of_vet("sys:p", "20260101T210000Z-0001", Verdicts(words)),
        "vet",
    )
    counts = {("good",): 1, ("slow",): 1, ("faulty",): 0, ("not seen",): 2}
    assert having(found, "vet_nodes", partition="p") == counts
    assert having(found, "vet_node_verdict", partition="p") == {
        ("n1", "slow"): 1,
        ("n?", "not seen"): 1,
    }


def test_hostile_names_are_labels_and_nothing_else(tmp_path):
    spent = night(1, finding(part=HOSTILE, title=HOSTILE))
    found = of_night(
        tmp_path,
        spent,
        [value("A", HOSTILE, environ=HOSTILE), value("B", metric=HOSTILE)],
    )
    assert having(found, "finding_loss_ratio", part=SHOWN)
    assert having(found, "value_seconds", environ=SHOWN, title=SHOWN)
