# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the sections, against values worked out by hand."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from fabric_checks.core import families as families_of
from fabric_checks.report import drawing
from fabric_checks.report.blocks import column_of
from fabric_checks.report.collecting import collect
from fabric_checks.report.html import build
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import families
from fabric_checks.report.sections.over_time import change_points
from fabric_checks.report.values import bounds_text
from fabric_twins import sand
from tests.report import records
from tests.report.conftest import html_of
from tests.report.records import SIZES_B, record

STREAMING, STRESS = families_of.tag(families_of.STREAMING), families_of.tag(families_of.STRESS)


def built(rows, **options):
    """Return the sections by key, and the provenance of what is in them."""
    results, provenance = collect(records.frame(rows)), Provenance()
    return {section.key: section for section in build.sections(results, provenance, **options)}, provenance


def sections(rows, **options):
    return built(rows, **options)[0]


def lines(found, provenance, section, block):
    """Return the lines of a figure: by the title of the panel, by name, the values by place."""
    data = provenance.data()["series"]
    shown = {}
    for svg in blocks(found, section)[block].svgs:
        root = ET.fromstring(svg)
        of = shown.setdefault(root.get("aria-label"), {})
        for line in root.iter("polyline"):
            series = data[int(line.get("data-s"))]
            of[series[0]] = dict(zip(series[4], series[5], strict=True))
    return shown


@pytest.fixture(scope="module")
def everything():
    return sections(records.everything())


def blocks(found, section):
    return {block.key: block for block in found[section].blocks}


def texts(table):
    return {head: [cell.text for cell in cells] for head, cells in table.rows}


def test_the_tables_of_a_machine(everything):
    found = blocks(everything, "tables")
    assert texts(found["table-2"]) == {"oak": ["1", "0.5", "50"]}
    assert texts(found["table-3"]) == {"oak": ["2"]}
    # The peak of IMB is the largest of its curve.
    assert texts(found["table-6"]) == {"oak": ["2900", "1490"]}
    assert texts(found["table-7"]) == {"oak": ["0.5", "1"]}
    assert texts(found["table-9"]) == {"oak": ["5800", "1490"]}


def test_the_best_of_a_column_is_marked():
    rows = [
        *records.streaming(),
        *records.streaming(factor=2, system="elm"),
        *records.streaming(factor=3, system="ash"),
    ]
    found = blocks(sections(rows), "tables")
    best = {key: [head for head, cells in found[key].rows if cells[0].best] for key in ("table-2", "table-4")}
    assert best == {"table-2": ["oak"], "table-4": ["oak"]}


def test_what_all_have_is_not_best():
    rows = [record(system=name) for name in ("oak", "elm", "ash")]
    assert not any(cell.best for cell in column_of(collect(records.frame(rows)).values))


def test_references_are_counted_and_told(everything):
    found = blocks(everything, "references")
    assert texts(found["references-count"])["oak"][:4] == ["1", "1", "0", "0"]
    assert texts(found["references-missed"])["oak"] == [
        "OsuLatency 2x1",
        "latency_64B",
        "1.5",
        "us",
        "1 (at most 1.1)",
        "the offer",
    ]


@pytest.mark.parametrize(
    ("reference", "lower", "upper", "text"),
    [
        (100.0, -0.05, None, "100 (at least 95)"),
        (100.0, -0.05, 0.1, "100 (95 to 110)"),
        (-10.0, None, 0.5, "-10 (at most -5)"),
    ],
)
def test_bounds_are_shares_of_the_size_of_the_reference(reference, lower, upper, text):
    row = record(reference=reference, lower=lower, upper=upper, no_reference=None)
    assert bounds_text(collect(records.frame([row])).values[0]) == text


def test_what_is_slow_comes_first(everything):
    (look, *_) = everything["summary"].blocks
    lines = dict(look.groups)["oak"]
    assert "oak02 receives at 0.41" in lines[0]
    assert any("latency_64B is 1.5 us, reference 1 (at most 1.1): missed" in line for line in lines)
    assert any("node oak03 was lost" in line for line in lines)


def test_the_provenance_of_a_figure():
    runs = [
        row for day in range(6) for row in records.later([record(no_reference=None, reference=1.0, upper=0.1)], day)
    ]
    provenance = Provenance()
    (value,) = collect(records.frame(runs)).values
    number = provenance.number_of(value)
    assert provenance.number_of(value) == number
    data = provenance.data()
    place, *own = data["values"][number]
    told = {data["texts"][a]: data["texts"][b] for a, b in zip(own[::2], own[1::2], strict=True)}
    case = dict(zip(*[iter(data["texts"][i] for i in data["cases"][place])] * 2, strict=True))
    assert told == {
        "metric": "latency = 1 us",
        "runs": "6 runs, median",
        "date (UTC)": "2026-11-01 12:00 to 2026-11-06 12:00",
        "session": "20261101T120000Z-0001 .. 20261106T120000Z-0001, 6 in all",
        "95 % interval": "1 to 1 us",
        "reference": "1 (at most 1.1)",
        "verdict": "met",
    }
    assert case["program"] == "fabric-checks streaming 1, built"
    assert case["nodes"] == "oak00, oak01"
    assert case["MPI"] == "MPICH 5.0.2"
    assert [each["when"] for each in provenance.cases] == [f"{told['date (UTC)']}; {told['session']}"]


def test_equal_values_keep_their_own_provenance():
    provenance = Provenance()
    (value,) = collect(records.frame([record()])).values
    assert provenance.number_of(value) != provenance.number_of(replace(value, median=2.0))


def test_every_ask_of_the_tables_is_of_a_known_unit():
    from fabric_checks.core.metrics import UNITS

    assert {ask.unit for _, asks in sand.TABLES.values() for ask in asks} <= set(UNITS)


def test_a_change_is_told_and_marked():
    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.01, 0.99, 1.0]
    rows = [row for day, n in enumerate(noise) for row in records.later(records.streaming(), day, n)]
    slow = [row | {"mpi": "MPICH 5.1"} for row in records.streaming(factor=1.5)]
    rows += [row for day, n in enumerate(noise) for row in records.later(slow, 10 + day, n)]
    changes = change_points(records.frame(rows))
    found = sections(rows, over=True, changes=changes)
    told = dict(blocks(found, "over-time")["changes"].groups)["oak"]
    assert any("2026-11-11" in line and "worse by" in line and "MPICH 5.0.2 -> MPICH 5.1" in line for line in told)
    assert any("worse" in line and "2026-11-11" in line for line in dict(found["summary"].blocks[0].groups)["oak"])
    assert 'class="change"' in blocks(found, "over-time")["time-0"].svgs[0]
    steady = sections(rows[: len(rows) // 2], over=True, changes=change_points(records.frame(rows[: len(rows) // 2])))
    assert not blocks(steady, "over-time")["changes"].groups


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


def test_every_curve_that_was_measured_is_drawn():
    rows = records.everything()
    _, provenance = built(rows)
    drawn = {
        (line, quantity, place) for line, quantity, _, _, places, *_ in provenance.data()["series"] for place in places
    }
    curves = [row for row in rows if row["size_B"] is not None and not row["compared"]]
    counted = [row for row in curves if families._COUNTED.fullmatch(row["quantity"])]
    missing = {
        row["metric"] for row in curves if row not in counted and ("oak", row["quantity"], row["size_B"]) not in drawn
    }
    assert not missing


def test_every_value_that_is_no_curve_is_in_a_table():
    rows = [row for row in records.everything() if row["metric"] and row["size_B"] is None and not row["compared"]]
    found = sections(rows)
    shown = " ".join(
        head
        for section in found.values()
        for block in section.blocks
        if block.kind == "table"
        for head, _ in block.rows
    )
    wanted = {
        row["metric"] for row in rows if not families._COUNTED.fullmatch(row["quantity"]) and row["check"] != "Rotate"
    }
    assert {metric for metric in wanted if metric not in shown} == set()


def test_machines_are_side_by_side_and_layouts_too():
    rows = [*records.streaming(), *records.streaming(factor=2, environ="impi"), *records.streaming("1x2")]
    shown = lines(*built(rows), STREAMING, f"{STREAMING}-0")
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
    shown = lines(*built(rows), "collectives", "collectives-0-over")
    assert shown["time, Bcast at 8 B, us"] == {"oak, 1 a node": {2: 2.4, 4: 4.8, 8: 9.6}}
    two = [row for row in rows if row["layout"] != "8x1"]
    assert "collectives-0-over" not in blocks(sections(two), "collectives")


def test_what_a_case_measures_for_several_nodes_is_a_line(everything):
    found, provenance = built(records.everything())
    shown = lines(found, provenance, "applications", "applications-0-counted")
    assert shown["loop time, lj fixed, 4x2, s"] == {
        "oak, 1 a node": {1: 8, 2: 4, 4: 2},
        "oak, 2 a node": {1: 4, 2: 2, 4: 1},
    }
    spot = lines(found, provenance, STRESS, f"{STRESS}-0-counted")
    assert spot["send time to, 4x1, us"] == {"oak": {1: 3, 2: 4, 3: 5}}


def test_the_tables_of_the_sand_report_are_there_where_they_have_something_to_say():
    assert "tables" not in sections([record(check="OsuLatency")])
    found = blocks(sections(records.streaming()), "tables")
    assert list(found) == [f"table-{n}" for n in (1, 2, 3, 4, 5, 6)]  # nothing was measured within a node


def test_published_platforms_stand_beside_the_machine_if_they_are_asked_for():
    rows = records.streaming()
    assert list(texts(blocks(sections(rows), "tables")["table-2"])) == ["oak"]
    found = blocks(sections(rows, published=True), "tables")
    shown = texts(found["table-2"])
    assert shown["oak"] == ["1", "0.5", "50"] and shown["cbc (published)"] == ["1.35", "0.36", "73.3"]
    assert {cell.mark for cell in dict(found["table-2"].rows)["cbc (published)"]} == {"SAND Table 2"}


def test_simulated_values_are_marked_wherever_they_stand():
    rows = records.everything(evidence="simulated", system="twins", partition="cbc")
    found, provenance = built(rows)
    assert all("(simulated)" in series[0] for series in provenance.data()["series"])
    for section in found.values():
        for block in section.blocks:
            if block.kind == "table":
                cells = [cell for _, row in block.rows for cell in row if cell.value]
                assert all(cell.mark.startswith("simulated") for cell in cells), block.key


def test_the_ratio_of_processes_a_node_has_both_values(everything):
    ((_, cells),) = blocks(everything, "processes-a-node")["ppn"].rows
    assert [cell.text for cell in cells] == ["OsuLatencyPpnRatio 1x2", "latency at 8 B", "2x1: 2; 1x2: 1 us", "0.5"]


def test_runs_over_time_are_drawn_one_by_one():
    rows = [row for day in range(4) for row in records.later(records.streaming(), day, 1 + day / 10)]
    found, provenance = built(rows, over=True)
    shown = lines(found, provenance, "over-time", "time-0")
    (values,) = shown["Streaming 2x1: ping_pong_time_0B, us"].values()
    assert list(values.values()) == [1.0, 1.1, 1.2, 1.3]
    assert [day - min(values) for day in values] == [0, 1, 2, 3]


def test_points_stand_where_their_values_are():
    # Higher on the page is a smaller y; the times of the fixture grow with the size.
    found, _ = built(records.streaming())
    svg = next(svg for svg in blocks(found, STREAMING)[f"{STREAMING}-0"].svgs if "ping pong time, 2x1" in svg)
    line = ET.fromstring(svg).find("polyline")
    places = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert len(places) == len(SIZES_B)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_many_lines_differ_in_more_than_colour():
    rows = [row for number in range(13) for row in records.streaming(system=f"machine{number:02}")]
    figure = blocks(sections(rows), STREAMING)[f"{STREAMING}-0"]
    assert len({style for _, style in figure.legend}) == 13 and drawing.COLOURS * drawing.DASHES > 13


def test_a_layout_that_is_none_does_no_harm():
    rows = records.imb("ImbCollective", "Bcast", "4x1")
    found = sections([row | {"layout": "wide", "test": "ImbCollective %benchmark=Bcast %layout=wide"} for row in rows])
    assert blocks(found, "collectives")["collectives-0"].svgs


def test_what_was_not_measured_is_one_list_with_what_would_measure_it():
    (listed,) = sections(records.streaming())["not-measured"].blocks
    ((whom, told),) = listed.groups
    assert whom == "" and "Cross-section: `ci/run --tag cross-section`" in told
    assert not any(line.startswith("between nodes") for line in told)
    (full,) = sections(records.everything())["not-measured"].blocks
    assert any("npb: no wheel has it" in line for _, told in full.groups for line in told)


def test_a_family_of_a_strangers_check_is_a_section_of_its_own():
    rows = [record(check="Waves", family=name) for name in ("Sea & shore", "Sea shore", families_of.STREAMING, None)]
    found = sections([row | {"test": str(at)} for at, row in enumerate(rows)])
    titles = {key: section.title for key, section in found.items() if "Waves 2x1" not in key}
    order = [STREAMING, "sea-shore", "sea-shore-2", "others"]
    assert [key for key in titles if key in order] == order
    assert (titles["sea-shore"], titles["sea-shore-2"], titles["others"]) == ("Sea & shore", "Sea shore", "Others")


def test_the_values_asked_for_first_are_at_a_glance(everything):
    shown = texts(blocks(everything, "summary")["at-a-glance"])
    assert shown["Between nodes: bandwidth, peak, 2x1"] == ["MB/s", "1600"]
    assert shown["All processes: bcast, 8 B and 1 MiB, 16x1"] == ["us", "1.2 .. 700"]


def test_twenty_thousand_values_are_below_three_megabytes():
    rows = records.twenty_thousand()
    assert len(rows) > 19_000
    assert len(html_of(rows).encode()) < 3_000_000


def test_every_family_has_a_tag_of_its_own():
    tags = [families_of.tag(family) for family in families_of.KNOWN]
    assert len(set(tags)) == len(tags) and all(tag.replace("-", "").isalpha() for tag in tags)
