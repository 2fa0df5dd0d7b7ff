# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the sections, against values worked out by hand."""

from datetime import timedelta

import numpy as np
import pytest

from fabric_checks.core import families as families_of
from fabric_checks.report import page
from fabric_checks.report.collection import collect
from fabric_checks.report.findings import where_text
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import families
from fabric_checks.report.sections.over_time import change_points
from tests.report import records
from tests.report.conftest import html_of
from tests.report.records import NOON, record

STREAMING, STRESS = (
    families_of.tag(families_of.STREAMING),
    families_of.tag(families_of.STRESS),
)


def sections(rows, **options):
    """Return the sections by key."""
    results = collect(records.frame(rows))
    return {section.key: section for section in page.sections(results, **options)}


def lines(found, section, block):
    """Return the lines of a figure: by the name of the panel, by label, the values by position."""
    shown = {}
    for panel in blocks(found, section)[block].panels:
        of = shown.setdefault(panel.name, {})
        for line in panel.lines:
            of[line.label] = dict(line.points)
    return shown


@pytest.fixture(scope="module")
def everything():
    return sections(records.everything())


def blocks(found, section):
    return {block.key: block for block in found[section].blocks}


def texts(table):
    return {
        head: [getattr(cell, "text", cell) for cell in cells]
        for head, cells in table.rows
    }


def test_the_tables_of_a_machine(everything):
    found = blocks(everything, "tables")
    assert texts(found["table-2"]) == {"oak": ["1", "0.5", "50"]}
    assert texts(found["table-3"]) == {"oak": ["2"]}
    # The peak of IMB is the largest of its curve.
    assert texts(found["table-6"]) == {"oak": ["2900", "1490"]}
    assert texts(found["table-7"]) == {"oak": ["0.5", "1"]}
    assert texts(found["table-9"]) == {"oak": ["5800", "1490"]}


MET = {"no_reference": None, "reference": 1.0, "upper": 0.1}


@pytest.mark.parametrize(
    "fields, word, text",
    [
        (MET, "passed", "1 of 1 case passed; 1 held to references, none missed"),
        (
            {"nodes": 8, "limits": {"node": 0.4}},
            "blind",
            "any node slower by 40 % or more would have been",
        ),
    ],
)
def test_the_verdict_is_the_first_thing_said(fields, word, text):
    found = sections([record(**fields)])["summary"].verdict
    assert found[0] == word and text in found[1]


def test_the_first_screen_has_identity_and_changes_and_no_empty_list():
    found = sections([record(value=2.0), *records.later([record(value=3.0)], 1)])[
        "summary"
    ]
    assert dict(found.facts) == {
        **{
            "on": "oak:compute; 2 nodes (oak00, oak01); MPICH 5.0.2",
            "runs": "2, 2026-11-01 to 2026-11-02",
        },
        "collection": "0.1.0+g123456789abc",
    }
    assert not found.blocks
    rows = [*records.streaming(), *records.later(records.streaming(factor=2.0), 1)]
    (first,) = sections(rows)["summary"].blocks
    (cell,) = (
        cells[0] for head, cells in first.rows if "latency, smallest size" in head
    )
    assert (cell.text, cell.before, cell.change, cell.trend, len(cell.curve)) == (
        *("2", "1 on 2026-11-01", "+100 %", "worse", 7),
    )
    for result, worse in (("fail", "worse"), ("pass", "")):
        judged = MET | {"result": result}
        rows = [
            row | judged | {"reference": row["value"] / 2}
            for row in records.streaming()
        ]
        *_, first = sections(rows)["summary"].blocks
        for head, (cell,) in first.rows:
            assert cell.change == "+100 %" and "(at most " in cell.before
            assert cell.trend == (worse if "latency" in head else "better")


def test_the_first_and_the_last_of_many_nodes_are_so_by_their_numbers():
    few = record(nodelist=["n7", "n12"])
    many = record(nodelist=[f"n{number}" for number in range(1, 12)])
    assert "12 nodes (n1 .. n12)" in where_text([few, many])


def test_two_sizes_of_a_curve_are_no_range():
    tables = blocks(sections(records.everything()), "summary")
    (cell,) = (
        cells[0]
        for head, cells in tables["at-a-glance"].rows
        if "bcast, 8 B and 1 MiB" in head
    )
    assert cell.text == "1.2 at 8 B, 700 at 1 MiB"


def test_values_that_missed_their_reference_come_first(everything):
    found = blocks(everything, "references")
    assert [
        [getattr(cell, "text", cell) for cell in cells]
        for _, cells in found["references-judged"].rows
    ] == [
        [
            "missed",
            "OsuLatency 2x1",
            "latency_64B",
            "1.5",
            "us",
            "1 (at most 1.1)",
            "the offer",
        ],
        [
            "met",
            "OsuLatency 2x1",
            "latency_8B",
            "1.05",
            "us",
            "1 (at most 1.1)",
            "the offer",
        ],
    ]


def test_what_to_look_at_comes_first_and_what_else_was_seen_is_there():
    note = {"kind": "plateaus", "severity": "note", "text": "pairs run at link/1"}
    rows = [
        *records.everything(),
        record(check="A", findings=[note]),
        record(check="B", case_result="xfail"),
    ]
    look, *_, seen = sections(rows)["summary"].blocks
    lines = dict(look.groups)[""]
    for line, words in zip(
        lines,
        ("oak02 receives at 0.41", "oak03 was lost", "latency_64B is 1.5 us"),
        strict=True,
    ):
        assert words in line
    text = " ".join(dict(seen.groups)[""])
    assert (
        "pairs run at link/1" in text
        and "B %layout=2x1 @oak:compute+mpich failed as expected" in text
    )


def test_the_provenance_of_a_value():
    runs = [
        row
        for day in range(6)
        for row in records.later([record(**MET, meaning="Half the round trip.")], day)
    ]
    provenance = Provenance()
    (value,) = collect(records.frame(runs)).values
    number = provenance.number_of(value)
    data = provenance.data()
    case, facts = data["values"][number]
    assert data["facts"][facts] == {
        "metric": "latency",
        "meaning": "Half the round trip.",
        "runs": "6 runs, median; 1 to 1 us",
        "date (UTC)": "2026-11-01 12:00 to 2026-11-06 12:00",
        "session": "20261101T120000Z-0001, 20261102T120000Z-0001 and 4 more",
        "reference": "1 (at most 1.1)",
        "verdict": "met",
    }
    shown = data["cases"][case]
    named = ("program", "program_version", "stack", "nodelist", "mpi")
    assert [shown[name] for name in named] == [
        *("fabric-checks streaming", "1", "built", "oak00, oak01", "MPICH 5.0.2")
    ]


def test_a_change_is_told_and_marked():
    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.01, 0.99, 1.0]
    rows = [
        row
        for day, n in enumerate(noise)
        for row in records.later(records.streaming(), day, n)
    ]
    slow = [row | {"mpi": "MPICH 5.1"} for row in records.streaming(factor=1.5)]
    rows += [
        row for day, n in enumerate(noise) for row in records.later(slow, 10 + day, n)
    ]
    changes = change_points(records.frame(rows))
    found = sections(rows, changes=changes)
    shown = dict(blocks(found, "over-time")["changes"].groups)["oak"]
    assert any(
        "2026-11-11" in line
        and "worse by" in line
        and "MPICH 5.0.2 -> MPICH 5.1" in line
        for line in shown
    )
    assert any(
        "worse" in line and "2026-11-11" in line
        for line in dict(found["summary"].blocks[0].groups)["oak"]
    )
    assert blocks(found, "over-time")["time-0"].panels[0].marks


def test_what_chance_explains_is_no_headline():
    """Of many series of pure noise some seem to change: they are listed, with how many would, and none is
    news."""
    draw = np.random.default_rng(3)
    rows = [
        record(
            f"m{number}",
            float(value),
            time=NOON + timedelta(days=day),
            session=f"202611{1 + day:02}T120000Z-0001",
        )
        for number in range(300)
        for day, value in enumerate(100 * np.exp(0.05 * draw.standard_normal(20)))
    ]
    changes = change_points(records.frame(rows))
    assert changes[0] and not any(each.is_news for each in changes[0])
    found = sections(rows, changes=changes)
    assert found["summary"].verdict[0] == "passed" and "look-at" not in {
        each.key for each in found["summary"].blocks
    }
    assert (
        "of 300 series changed; about 8 would by chance" in found["over-time"].intro[0]
    )


def test_every_family_of_which_something_was_measured_has_a_section(everything):
    keys = list(everything)
    assert keys[:2] == ["summary", "pairs-of-processes"] and keys[-1] == "not-measured"
    assert set(keys) >= {
        STREAMING,
        "collectives",
        "overlap",
        STRESS,
        "applications",
        "cross-section",
        "tables",
    }
    assert {"one-sided", "non-blocking-collectives", "others"}.isdisjoint(keys)


def test_every_value_is_drawn_or_in_a_table():
    rows = [
        row
        for row in records.everything()
        if row["metric"] and row["check"] != "Rotate"
    ]
    found = sections(rows)
    drawn = {
        (value.quantity, value.size_B)
        for section in found.values()
        for block in section.blocks
        if block.kind == "picture"
        for panel in block.panels
        for line in panel.lines
        for value in line.values
    }
    tables = [
        block
        for section in found.values()
        for block in section.blocks
        if block.kind == "table"
    ]
    heads = " ".join(head for table in tables for head, _ in table.rows)
    for row in rows:
        if row["size_B"] is None:
            assert row["metric"] in heads or families._COUNTED.fullmatch(
                row["quantity"]
            ), row["metric"]
        else:
            counted = families._COUNTED.fullmatch(row["quantity"])
            assert counted or (row["quantity"], row["size_B"]) in drawn, row["metric"]


def test_machines_are_side_by_side_and_layouts_too():
    rows = [
        *records.streaming(),
        *records.streaming(factor=2, environ="impi"),
        *records.streaming("1x2"),
    ]
    shown = lines(sections(rows), STREAMING, f"{STREAMING}-0")
    assert set(shown) == {
        f"{quantity} time, {layout}, us"
        for quantity in ("ping pong", "streaming", "bidirectional ping pong")
        for layout in ("1x2", "2x1")
    }
    both = shown["ping pong time, 2x1, us"]
    assert both["oak, mpich"][64] == 1.5 and both["oak, impi"][64] == 3.0


def test_what_was_measured_in_several_layouts_is_drawn_over_the_processes():
    rows = [
        row | {"value": row["value"] * nodes}
        for nodes in (2, 4, 8)
        for row in records.imb("ImbCollective", "Bcast", f"{nodes}x1")
    ]
    shown = lines(sections(rows), "collectives", "collectives-0-over")
    assert shown["time, Bcast at 8 B, us"] == {
        "oak, 1 a node": {2: 2.4, 4: 4.8, 8: 9.6}
    }
    two = [row for row in rows if row["layout"] != "8x1"]
    assert "collectives-0-over" not in blocks(sections(two), "collectives")


def test_what_a_case_measures_for_several_nodes_is_a_line(everything):
    found = sections(records.everything())
    shown = lines(found, "applications", "applications-0-over")
    assert shown["loop time, lj fixed, 4x2, s"] == {
        "oak, 1 a node": {1: 8, 2: 4, 4: 2},
        "oak, 2 a node": {1: 4, 2: 2, 4: 1},
    }
    spot = lines(found, STRESS, f"{STRESS}-0-over")
    assert spot["send time to, 4x1, us"] == {"oak": {1: 3, 2: 4, 3: 5}}


def test_the_tables_of_the_sand_report_are_there_where_they_have_something_to_say():
    assert "tables" not in sections([record(check="OsuLatency")])
    found = blocks(sections(records.streaming()), "tables")
    assert list(found) == [
        f"table-{n}" for n in (1, 2, 3, 4, 5, 6)
    ]  # nothing was measured within a node


def test_published_platforms_stand_beside_the_machine_if_they_are_asked_for():
    rows = records.streaming()
    assert list(texts(blocks(sections(rows), "tables")["table-2"])) == ["oak"]
    found = blocks(sections(rows, published=True), "tables")
    shown = texts(found["table-2"])
    assert shown["oak"] == ["1", "0.5", "50"] and shown["cbc (published)"] == [
        "1.35",
        "0.36",
        "73.3",
    ]
    assert {cell.mark for cell in dict(found["table-2"].rows)["cbc (published)"]} == {
        "SAND Table 2"
    }


def test_simulated_values_are_marked_wherever_they_stand():
    rows = records.everything(evidence="simulated", system="twins", partition="cbc")
    found = sections(rows)
    pictures = [
        block
        for section in found.values()
        for block in section.blocks
        if block.kind == "picture"
    ]
    assert all("(simulated)" in name for each in pictures for name in each.looks)
    for section in found.values():
        for block in section.blocks:
            if block.kind == "table":
                cells = [
                    cell
                    for _, row in block.rows
                    for cell in row
                    if getattr(cell, "value", None)
                ]
                assert all(cell.mark.startswith("simulated") for cell in cells), (
                    block.key
                )


def test_runs_over_time_are_drawn_one_by_one():
    rows = [
        row
        for day in range(4)
        for row in records.later(records.streaming(), day, 1 + day / 10)
    ]
    found = sections(rows)
    shown = lines(found, "over-time", "time-0")
    (values,) = shown["Streaming 2x1: ping_pong_time_0B, us"].values()
    assert list(values.values()) == [1.0, 1.1, 1.2, 1.3]
    assert [day - min(values) for day in values] == [0, 1, 2, 3]


def test_what_was_not_measured_is_one_list_with_what_would_measure_it():
    (listed,) = sections(records.streaming())["not-measured"].blocks
    ((whom, shown),) = listed.groups
    assert whom == "" and "Cross-section: `ci/run --tag cross-section`" in shown
    (full,) = sections(records.everything())["not-measured"].blocks
    assert any(
        "npb (mpich): no wheel has it" in line
        for _, shown in full.groups
        for line in shown
    )


def test_a_family_of_a_strangers_check_is_a_section_of_its_own():
    rows = [
        record(check="Waves", family=name)
        for name in ("Sea & shore", "Sea shore", families_of.STREAMING, None)
    ]
    found = sections([row | {"test": str(at)} for at, row in enumerate(rows)])
    titles = {
        key: section.title for key, section in found.items() if "Waves 2x1" not in key
    }
    order = [STREAMING, "sea-shore", "sea-shore-2", "others"]
    assert [key for key in titles if key in order] == order
    assert (titles["sea-shore"], titles["sea-shore-2"], titles["others"]) == (
        "Sea & shore",
        "Sea shore",
        "Others",
    )


def test_only_columns_of_machines_are_divided():
    rows = [row for name in "abcdefgh" for row in records.streaming(system=name)]
    text = html_of([*rows, record(check="OsuLatency", **MET)])
    assert text.count('id="at-a-glance"') == text.count('id="at-a-glance6"') == 1
    assert 'id="references-judged"' in text and 'id="references-judged6"' not in text


def test_twenty_thousand_values_are_below_three_megabytes():
    rows = records.twenty_thousand()
    assert len(rows) > 19_000
    assert len(html_of(rows).encode()) < 3_000_000
