# SPDX-License-Identifier: BSD-3-Clause
"""Drawings as files: well-formed, the same for the same values, and labelled."""

from xml.etree import ElementTree

import numpy as np
import pytest

from fabric_checks.analysis.pair_matrix import PairMatrix
from fabric_checks.core.errors import FabricError
from fabric_checks.report import svg_panels
from fabric_checks.report.svg_panels import Line, Panel, pair_bandwidths
from tests.report.test_hostile import HOSTILE

TIMES = Line("ping-pong", ((0, 1.0), (1, 1.1), (1024, 2.0), (1048576, 300.0)))


def texts(svg):
    """Return all texts of an SVG file."""
    elements = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(element.itertext()) for element in elements}


def curves(title="A title", line=TIMES):
    panel = Panel(
        title, (line, Line("streaming", TIMES.points[1:])), "time, us", marks=(1024.0,)
    )
    looks = svg_panels.looks([panel])
    return svg_panels.document(title, [(title, svg_panels.panel(panel, looks))], looks)


def test_curves_have_names_units_and_readable_sizes():
    assert {"A title, time, us", "ping-pong", "streaming", "0", "1K", "300"} <= texts(
        curves()
    )
    assert curves() == curves()


@pytest.mark.parametrize(
    "kind, values, texts",
    [
        ("number", [0.0, 12.0], ["0", "6", "12"]),
        ("time", [4.0, 6.0], ["4", "5", "6"]),
        ("size", [1, 100], ["1", "10", "100"]),
    ],
)
def test_values_are_where_their_ticks_are(kind, values, texts):
    position, ticks = svg_panels._up(kind, values)
    assert [text for text, _ in ticks] == texts
    assert [position(float(text)) for text, _ in ticks] == pytest.approx(
        [at for _, at in ticks]
    )
    bottom, middle, top = (at for _, at in ticks)
    assert bottom - middle == pytest.approx(middle - top) and bottom > top


def places(svg):
    """Return where the areas of a heat map are, by the number of their colour."""
    paths = ElementTree.fromstring(svg).findall(".//{*}path")
    colours = [svg_panels._CIVIDIS.index(path.get("stroke")[1:]) for path in paths]
    return {colour: path.get("d") for colour, path in zip(colours, paths, strict=True)}


def test_a_heat_map_has_the_colours_of_its_own_range_and_gaps():
    values = np.array([[900.0, 850.0, np.nan], [800.0, 900.0, 900.0]])
    drawn = svg_panels.heat_map(values, ["a", "b"], ["c", "d", "e"])
    assert places(drawn) == {
        **{0: "M0 1h1", 5: "M1 0h1"},
        9: "M0 0h1M1 1h2",
    }


@pytest.mark.parametrize("worst, pair", [(np.fmin, 10.0), (np.fmax, 5000.0)])
def test_a_heat_map_of_many_nodes_is_small_and_shows_a_single_bad_pair(worst, pair):
    values = np.random.default_rng(1).uniform(890, 910, (4096, 4096))
    np.fill_diagonal(values, np.nan)
    values[1000, 3000] = pair
    names = [f"n{at}" for at in range(4096)]
    drawn = svg_panels.heat_map(values, names, names, worst)
    assert len(drawn) < 100_000 and drawn.count("<") < 200
    level = 0 if worst is np.fmin else 9
    assert places(drawn)[level] == f"M{3000 // 41} {1000 // 41}h1"


def matrix(nodes, hosts=None):
    half = nodes // 2
    values = np.full((half, half), 900.0)
    values[0, -1], values[-1, 0] = 300.0, np.nan
    return PairMatrix(
        np.arange(half),
        half + np.arange(half),
        values,
        hosts or tuple(f"n{at}" for at in range(nodes)),
    )


@pytest.mark.parametrize("nodes", [4, 16, 600])
def test_matrix_and_histogram_name_hosts_as_far_as_they_can_be_read(nodes):
    found = texts(pair_bandwidths("A title", matrix(nodes), 900.0))
    named = {text for text in found if text.startswith("n") and text[1:].isdecimal()}
    assert {
        "A title",
        "n0",
        f"n{nodes // 2}",
        "number of pairs",
        "link/1",
        "link/3",
    } <= found
    assert len(named) <= 40 and (nodes > 16 or len(named) == nodes)


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_names_are_only_text(text):
    tags = {element.tag for element in ElementTree.fromstring(curves()).iter()}
    svg = curves(text, Line(text, TIMES.points))
    assert {element.tag for element in ElementTree.fromstring(svg).iter()} == tags
    ElementTree.fromstring(
        pair_bandwidths(text, matrix(4, (text, text, text, text)), 900.0)
    )


def test_a_file_is_svg_whatever_its_name_asks_for(tmp_path):
    for name in ("a", "a.svg", "b.SVG"):
        assert svg_panels.save(tmp_path / name, curves()) == name
        assert (tmp_path / name).read_text().startswith("<svg ")
    with pytest.raises(
        FabricError, match=r"no picture can be written as '.png'; end the name in .svg"
    ):
        svg_panels.save(tmp_path / "a.png", curves())
