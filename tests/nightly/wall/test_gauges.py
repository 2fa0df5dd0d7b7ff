# SPDX-License-Identifier: BSD-3-Clause
"""The gauges of nights and vets, as OpenMetrics' own parser and Prometheus' older one read them."""

import pytest
from prometheus_client import parser as older
from prometheus_client.openmetrics import parser

from fabric_checks.core.metrics import UNITS
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly import journal
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.nightly.wall import gauges
from tests.nightly.samples import acknowledged, finding, night, record

#: A name that a file, a query, a page or a chat could stumble over.
HOSTILE = 'a "quoted" back\\slash/, é {x="y"} # EOF\n<script>\x1b[31m\ud800 @all'
SHOWN = 'a "quoted" back\\slash/, é {x="y"} # EOF <script>?[31m? @all'


def headline(title="latency", section="pair"):
    return {"title": title, "quantity": "latency", "section": section, "order": 1}


def value(test="A", **changes):
    of = {
        "headline": headline(),
        "reference": 2.0,
        "lower": None,
        "upper": 0.1,
        "layout": "2x1",
        "parameters": {},
    }
    return record(test, **(of | changes))


def shown(folder, found, of="night"):
    """Write gauges; return the values that the file has by name and labels, and the warnings."""
    warnings = gauges.write(folder, of, "sys", found)
    (path,) = folder.glob("*")
    assert path.name == f"fabric_checks_{of}_sys.prom"
    text = path.read_text()
    read = [
        {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for each in families
            for sample in each.samples
        }
        for families in (
            parser.text_string_to_metric_families(text),
            older.text_string_to_metric_families(text),
        )
    ]
    assert read[0] == read[1] and text.endswith("\n# EOF\n")
    return {
        (name.removeprefix("fabric_checks_"), *labels): value for (name, *labels), value in read[0].items()
    }, warnings


def of_night(folder, spent, records=(), before=()):
    return shown(folder, gauges.of_night(spent, journal.news(before, spent), records))


def having(found, name, **labels):
    """Return the values of a name by the labels that are not given."""
    return {
        tuple(label for key, label in key[1:] if key not in labels and key != "system"): number
        for key, number in found.items()
        if key[0] == name and labels.items() <= dict(key[1:]).items()
    }


def test_a_night_shows_its_verdict_and_time(tmp_path):
    spent = night(1, blind=("x",), simulated=True)
    found, warnings = of_night(tmp_path, spent)
    assert warnings == []
    assert having(found, "night_timestamp_seconds") == {(): 1767301200.0}  # 2026-01-01 21:00 UTC
    verdicts = having(found, "night_verdict")
    assert verdicts == {(each.value,): int(each is Verdict.BLIND) for each in Verdict}
    assert having(found, "night_blind") == {(): 1}
    assert having(found, "night_info") == {("nightly", "true"): 1}
    assert having(found, "night_series_left_out") == {(): 0}


def test_a_night_that_failed_says_so(tmp_path):
    found, _ = of_night(tmp_path, night(1, failures=("no node",), measured=()))
    assert having(found, "night_verdict")["failed",] == 1


def test_findings_have_kind_part_state_age_and_loss(tmp_path):
    first = night(1, finding(), finding("n7", sizes={"slow node us": 3}, title="node n7 is far"))
    known = acknowledged(journal.still_open([first])[1])
    later = night(
        2, first.findings[0], finding("B", sizes={"case B": None}, title="B is late"), measured=("B",)
    )
    found, _ = of_night(tmp_path, later, before=[first, known])
    (one,) = having(
        found, "finding_since_timestamp_seconds", part="node n3", kind="own", state="open"
    ).values()
    assert one == 1767301200.0
    assert list(having(found, "finding_loss_ratio").values()) == [0.5]  # a loss without a number is none
    assert having(found, "finding_excess_seconds", part="node n7", kind="slow node") == {
        (journal.still_open([first])[1].id,): pytest.approx(3e-6)
    }
    assert having(found, "finding_since_timestamp_seconds", part="B", kind="case", state="new")
    assert having(found, "night_findings") == {
        ("new",): 1, ("open",): 1, ("not looked at",): 0, ("acknowledged",): 1, ("closed",): 0,
    }  # fmt: skip


def test_headline_values_have_base_units_and_their_references(tmp_path):
    records = [
        value(value=1.5),
        value("B", unit="MB/s", value=3.0, result="fail", headline=headline("rate")),
        value("C", unit="%", value=50.0, reference=None, headline=headline("share")),
        value("D", headline=None),
    ]
    found, _ = of_night(tmp_path, night(1), records)
    assert having(found, "value_seconds", title="latency").popitem()[1] == pytest.approx(1.5e-6)
    assert having(found, "reference_seconds", title="latency").popitem()[1] == pytest.approx(2e-6)
    assert having(found, "value_bytes_per_second").popitem()[1] == 3e6
    assert having(found, "value_ratio").popitem()[1] == 0.5 and not having(found, "reference_ratio")
    within = {
        dict(key[1:])["title"]: each for key, each in found.items() if key[0] == "value_within_reference"
    }
    assert within == {"latency": 1, "rate": 0}


def test_every_unit_of_the_collection_has_a_base_unit():
    assert set(gauges.BASE_UNITS) == set(UNITS)


def test_nodes_are_counted_by_what_the_night_has_against_them(tmp_path):
    records = [
        record("A", nodelist=["n1", "n2", "n3"]),
        record("B", None, node_faults={"n9": "down"}, nodelist=["n9"]),
    ]
    found, _ = of_night(tmp_path, night(1, finding(hosts=("n3",))), records)
    assert having(found, "night_nodes") == {("not blamed",): 2, ("blamed",): 1, ("not seen",): 1}


def vetted(count, **words):
    verdicts = Verdicts({f"n{number}": Word.GOOD for number in range(count)})
    verdicts.words |= words
    return verdicts


def test_a_vet_shows_its_counts_and_each_node_that_is_not_good(tmp_path):
    verdicts = vetted(4, n1=Word.SLOW, n2=Word.NOT_SEEN)
    found, _ = shown(tmp_path, gauges.of_vet("sys:p", "20260101T210000Z-0001", verdicts), "vet")
    assert having(found, "vet_nodes", partition="p") == {
        ("good",): 2,
        ("slow",): 1,
        ("faulty",): 0,
        ("not seen",): 1,
    }
    assert having(found, "vet_node_verdict", partition="p") == {("n1", "slow"): 1, ("n2", "not seen"): 1}


def test_a_file_of_too_many_nodes_is_bounded_and_says_so(tmp_path):
    words = {f"n{number}": Word.NOT_SEEN for number in range(2500)} | {"n2499": Word.FAULTY}
    found, (warning,) = shown(tmp_path, gauges.of_vet("sys:p", "x", vetted(2500, **words)), "vet")
    assert len(found) == gauges.MOST_SERIES
    assert ("n2499", "faulty") in having(found, "vet_node_verdict", partition="p")
    left_out = having(found, "vet_series_left_out").popitem()[1]
    assert left_out == 2500 + 6 - gauges.MOST_SERIES + 1 and f"{left_out:.0f} series are left out" in warning


def test_two_thousand_good_nodes_need_few_series(tmp_path):
    found, warnings = shown(tmp_path, gauges.of_vet("sys:p", "x", vetted(2000)), "vet")
    assert len(found) < 20 and not warnings


def test_hostile_names_are_labels_and_nothing_else(tmp_path):
    spent = night(1, finding(part=HOSTILE, title=HOSTILE))
    records = [value(environ=HOSTILE, headline=headline(HOSTILE)), value("B", environ="", metric=HOSTILE)]
    found, _ = of_night(tmp_path, spent, records)
    assert having(found, "finding_loss_ratio", part=SHOWN)
    assert having(found, "value_seconds", environ=SHOWN, title=SHOWN) and having(
        found, "value_seconds", environ="?"
    )


def test_names_that_differ_in_what_does_not_print_are_one_and_counted(tmp_path):
    found, (warning,) = shown(
        tmp_path, gauges.of_vet("sys:p", "x", vetted(0, **{"n\x01": Word.SLOW, "n\x02": Word.SLOW})), "vet"
    )
    assert having(found, "vet_node_verdict", partition="p") == {("n?", "slow"): 1} and "1 series" in warning


def test_a_long_name_is_cut(tmp_path):
    found, _ = of_night(tmp_path, night(1, finding(part="x" * 500)))
    assert having(found, "finding_loss_ratio", part="x" * (gauges.LONGEST - 3) + "...")


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    of_night(tmp_path, night(1))
    (path,) = tmp_path.glob("*")
    before = path.read_text()

    def full(new, _):
        # The collector passes over what is being written.
        assert new.parent == tmp_path and new.suffix != ".prom"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device; it is unchanged"):
        gauges.write(tmp_path, "night", "sys", [])
    assert list(tmp_path.glob("*")) == [path] and path.read_text() == before
