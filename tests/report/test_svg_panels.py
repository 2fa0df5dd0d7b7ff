# SPDX-License-Identifier: BSD-3-Clause
"""Drawings as files: well-formed, the same for the same values, and labelled."""

import base64
import struct
import zlib
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
    ("kind", "values", "texts"),
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


def test_a_heat_map_is_an_image_of_one_byte_for_each_pair():
    values = np.array([[900.0, 450.0, np.nan], [0.0, 900.0, 900.0]])
    image = ElementTree.fromstring(
        svg_panels.heat_map(values, ["a", "b"], ["c", "d", "e"])
    ).find(".//{*}image")
    data = base64.b64decode(image.get("href").partition("base64,")[2])
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">IIBB", data[16:26]) == (
        3,
        2,
        8,
        3,
    )
    begin = data.index(b"IDAT")
    pixels = zlib.decompress(
        data[begin + 4 : begin + 4 + struct.unpack(">I", data[begin - 4 : begin])[0]]
    )
    rows = [list(pixels[at + 1 : at + 4]) for at in (0, 4)]
    assert (
        rows[0][0] == rows[1][1] == rows[1][2] > rows[0][1] > rows[1][0] == 0
        and rows[0][2] == rows[0][0] + 1
    )


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
