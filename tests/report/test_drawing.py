# SPDX-License-Identifier: BSD-3-Clause
"""Drawings as files: well-formed, the same for the same values, and labelled."""

from xml.etree import ElementTree

import numpy as np
import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.diagnosis.cross_section.matrix import PairMatrix
from fabric_checks.report import drawing
from fabric_checks.report.drawing import Line, Panel
from fabric_checks.report.pair_drawing import pair_bandwidths
from tests.report.test_hostile import HOSTILE

TIMES = Line("ping-pong", ((0, 1.0), (1, 1.1), (1024, 2.0), (1048576, 300.0)))


def texts(svg):
    """Return all texts of an SVG file."""
    elements = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(element.itertext()) for element in elements}


def curves(title="A title", line=TIMES):
    panel = Panel(title, (line, Line("streaming", TIMES.points[1:])), "time, us", marks=(1024.0,))
    looks = drawing.looks([panel])
    return drawing.document(title, [(title, drawing.panel(panel, looks))], looks)


def test_curves_have_names_units_and_readable_sizes():
    assert {"A title", "time, us", "ping-pong", "streaming", "0", "1K", "100"} <= texts(curves())
    assert curves() == curves()


def matrix(nodes, hosts=None):
    half = nodes // 2
    values = np.full((half, half), 900.0)
    values[0, -1], values[-1, 0] = 300.0, np.nan
    return PairMatrix(np.arange(half), half + np.arange(half), values, hosts or tuple(f"n{at}" for at in range(nodes)))


@pytest.mark.parametrize("nodes", [4, 16, 600])
def test_matrix_and_histogram_name_hosts_as_far_as_they_can_be_read(nodes):
    found = texts(pair_bandwidths("A title", matrix(nodes), 900.0))
    named = {text for text in found if text.startswith("n") and text[1:].isdecimal()}
    assert {"A title", "n0", f"n{nodes // 2}", "number of pairs", "link/1", "link/3"} <= found
    assert len(named) <= 40 and (nodes > 16 or len(named) == nodes)


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_names_are_only_text(text):
    tags = {element.tag for element in ElementTree.fromstring(curves()).iter()}
    svg = curves(text, Line(text, TIMES.points))
    assert {element.tag for element in ElementTree.fromstring(svg).iter()} == tags
    ElementTree.fromstring(pair_bandwidths(text, matrix(4, (text, text, text, text)), 900.0))


def test_a_file_is_svg_whatever_its_name_asks_for(tmp_path):
    for name in ("a", "a.svg", "b.SVG"):
        assert drawing.save(tmp_path / name, curves()) == name
        assert (tmp_path / name).read_text().startswith("<svg ")
    with pytest.raises(FabricError, match=r"no picture can be written as '.png'; end the name in .svg"):
        drawing.save(tmp_path / "a.png", curves())
