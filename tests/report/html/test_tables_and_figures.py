# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the tables and figures, against figures worked out by hand."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from fabric_checks.report.html import build, judged, tables
from fabric_checks.report.html import svg as svg_module
from fabric_checks.report.html.blocks import NOT_MEASURED, column_of
from fabric_checks.report.html.collecting import collect
from fabric_checks.report.html.provenance import Provenance
from tests.report.html import records
from tests.report.html.records import SIZES_B, record

SVG = "{http://www.w3.org/2000/svg}"


def sections(rows, **options):
    results = collect(records.frame(rows))
    return {section.key: section for section in build.sections(results, Provenance(), **options)}


@pytest.fixture(scope="module")
def everything():
    return sections(records.everything())


def blocks(found, section):
    return {block.key: block for block in found[section].blocks}


def texts(table):
    return {head: [cell.text for cell in cells] for head, cells in table.rows}


def test_tables_1_to_9_and_figures_1_to_16_are_there_in_order(everything):
    assert list(blocks(everything, "tables")) == [f"table-{n}" for n in range(1, 10)]
    assert list(blocks(everything, "figures")) == [f"figure-{n}" for n in range(1, 17)]


def test_everything_that_was_measured_is_drawn(everything):
    for key, figure in blocks(everything, "figures").items():
        assert figure.svg, key
        assert figure.data, key


def test_the_tables_of_a_machine(everything):
    found = blocks(everything, "tables")
    assert texts(found["table-2"]) == {"oak": ["1", "0.5", "50"]}
    assert texts(found["table-3"]) == {"oak": ["2"]}
    # The peak of IMB is the largest of its curve.
    assert texts(found["table-6"]) == {"oak": ["2900", "1490"]}
    assert texts(found["table-7"]) == {"oak": ["0.5", "1"]}
    assert texts(found["table-9"]) == {"oak": ["5800", "1490"]}


def test_a_machine_without_figures_is_there_all_the_same():
    found = sections([*records.streaming(), record(check="OsuLatency", system="elm")])
    assert texts(blocks(found, "tables")["table-4"]) == {"elm": [NOT_MEASURED] * 2, "oak": ["1500", "1600"]}
    assert blocks(found, "figures")["figure-15"].svg is None


def test_a_figure_in_another_unit_is_not_shown_in_a_column():
    found = sections([record("zero_byte_latency_ping_pong", 1e-6, unit="s")])
    assert texts(blocks(found, "tables")["table-2"])["oak"][0] == NOT_MEASURED


def test_bandwidth_is_size_over_time(everything):
    ping_pong, _ = blocks(everything, "figures")["figure-2"].data
    rows = texts(ping_pong)
    assert "0" not in rows  # nothing is carried
    # 4096 B in 5 us, 1 MiB in 700 us
    assert rows["4K"] == ["819.2"]
    assert rows["1M"] == ["1498"]


def test_both_directions_count_twice():
    found = sections(records.streaming())
    (data,) = blocks(found, "figures")["figure-3"].data
    assert texts(data)["1M"] == ["2996"]


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


def test_sixteen_nodes_are_preferred():
    rows = [row for layout in ("8x1", "16x1", "32x1", "16x2") for row in records.imb("ImbCollective", "Bcast", layout)]
    (data,) = blocks(sections(rows), "figures")["figure-7"].data
    assert [column.title for column in data.columns] == ["oak, 16x1, IMB Bcast"]


def test_simulated_figures_are_marked_wherever_they_stand():
    rows = records.everything(evidence="simulated", system="twins", partition="cbc")
    for section in sections(rows).values():
        for block in section.blocks:
            if block.kind == "picture" and block.svg:
                for data in block.data:
                    assert all("simulated" in (column.mark, column.title[-10:-1]) for column in data.columns), block.key
            if block.kind == "table":
                cells = [cell for _, row in block.rows for cell in row if cell.value]
                assert all(cell.mark.startswith("simulated") for cell in cells), block.key


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
    assert judged.bounds_text(collect(records.frame([row])).values[0]) == text


def test_what_is_slow_comes_first(everything):
    (look, *_) = everything["summary"].blocks
    lines = dict(look.groups)["oak"]
    assert "oak02 receives at 0.41" in lines[0]
    assert any("latency_64B is 1.5 us, reference 1 (at most 1.1): missed" in line for line in lines)
    assert any("node oak03 was lost" in line for line in lines)


def test_the_ratio_of_processes_a_node_has_both_values(everything):
    ((_, cells),) = blocks(everything, "processes-a-node")["ppn"].rows
    assert [cell.text for cell in cells] == ["OsuLatencyPpnRatio 1x2", "latency at 8 B", "2x1: 2; 1x2: 1 us", "0.5"]


def test_runs_over_time_are_drawn_one_by_one():
    rows = [row for day in range(4) for row in records.later(records.streaming(), day, 1 + day / 10)]
    found = blocks(sections(rows, over=True), "over-time")["time-0"]
    first = found.data[0]
    assert [head for head, _ in first.rows] == [f"2026-11-{day:02} 12:00" for day in (1, 2, 3, 4)]
    assert texts(first)["2026-11-04 12:00"] == ["1.3"]


def points(svg):
    return [element for element in ET.fromstring(svg).iter(f"{SVG}use") if element.get("data-p")]


def test_every_point_of_a_drawing_has_its_provenance(everything):
    figure = blocks(everything, "figures")["figure-1"]
    assert len(points(figure.svg)) == 2 * len(SIZES_B)
    assert sum(len(data.rows) * len(data.columns) for data in figure.data) == 2 * len(SIZES_B)
    numbers = [int(point.get("data-p")) for point in points(figure.svg)]
    assert len(set(numbers)) == len(numbers)


def test_points_stand_where_their_values_are(everything):
    # Higher on the page is a smaller y; the times of the fixture grow with the size.
    figure = blocks(everything, "figures")["figure-1"]
    first = points(figure.svg)[: len(SIZES_B)]
    heights = [float(point.get("y")) for point in first]
    assert heights == sorted(heights, reverse=True)
    assert float(first[0].get("x")) < float(first[-1].get("x"))


def test_colours_are_those_of_the_page(everything):
    svg = blocks(everything, "figures")["figure-2"].svg
    assert "var(--line-0)" in svg
    assert "var(--ink)" in svg
    assert not any(colour in svg.lower() for colour in svg_module.VARIABLES)


def test_many_lines_differ_in_more_than_colour():
    rows = [row for number in range(13) for row in records.streaming(system=f"machine{number:02}")]
    svg = blocks(sections(rows), "figures")["figure-1"].svg
    root = ET.fromstring(svg)
    shapes = {element.get("id"): element.get("d") for element in root.iter(f"{SVG}path")}
    looks = set()
    for group in root.iter(f"{SVG}g"):
        if any(use.get("data-p") for use in group.findall(f"{SVG}use")):
            target = group.find(f"{SVG}use").get("{http://www.w3.org/1999/xlink}href")[1:]
            looks.add((shapes[target], group.get("style")))
    assert len(looks) == 13


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


def test_a_layout_that_is_none_does_no_harm():
    rows = records.imb("ImbCollective", "Bcast", "4x1")
    found = sections([row | {"layout": "wide", "test": "ImbCollective %benchmark=Bcast %layout=wide"} for row in rows])
    assert blocks(found, "figures")["figure-7"].svg is None


def test_every_ask_of_the_tables_is_of_a_known_unit():
    from fabric_checks.metrics import UNITS

    assert {ask.unit for _, asks in tables.TABLES.values() for ask in asks} <= set(UNITS)


def test_a_change_is_told_and_marked():
    from fabric_checks.report.html.change_points import change_points

    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.01, 0.99, 1.0]
    rows = [row for day, n in enumerate(noise) for row in records.later(records.streaming(), day, n)]
    slow = [row | {"mpi": "MPICH 5.1"} for row in records.streaming(factor=1.5)]
    rows += [row for day, n in enumerate(noise) for row in records.later(slow, 10 + day, n)]
    changes = change_points(records.frame(rows))
    found = sections(rows, over=True, changes=changes)
    told = dict(blocks(found, "over-time")["changes"].groups)["oak"]
    assert any("2026-11-11" in line and "worse by" in line and "MPICH 5.0.2 -> MPICH 5.1" in line for line in told)
    assert any("worse" in line and "2026-11-11" in line for line in dict(found["summary"].blocks[0].groups)["oak"])
    drawn = ET.fromstring(blocks(found, "over-time")["time-0"].svg)
    dotted = [
        path
        for path in drawn.iter(f"{SVG}path")
        if "var(--ink)" in path.get("style", "") and "dasharray" in path.get("style", "")
    ]
    assert dotted
    steady = sections(rows[: len(rows) // 2], over=True, changes=change_points(records.frame(rows[: len(rows) // 2])))
    assert not blocks(steady, "over-time")["changes"].groups
