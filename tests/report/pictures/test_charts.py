# SPDX-License-Identifier: BSD-3-Clause
"""Pictures are well-formed, the same from run to run, and say what they show."""

from xml.etree import ElementTree

import numpy as np
import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.diagnosis.cross_section.matrix import PairMatrix
from fabric_checks.report.pictures import charts as pictures

TIMES = {
    "ping-pong": {0: 1.0, 1: 1.1, 1024: 2.0, 1048576: 300.0},
    "streaming": {0: 0.4, 1: 0.4, 1024: 1.0, 1048576: 290.0},
}


def texts(path):
    """Return all texts of an SVG file."""
    elements = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(element.itertext()).strip() for element in elements}


def test_curves_have_names_units_and_readable_sizes(tmp_path):
    name = pictures.curves(tmp_path / "a.svg", "A title", TIMES, "time, us", log_y=True, marks_B=[1024])
    assert name == "a.svg"
    assert {"A title", "time, us", "ping-pong", "streaming", "0", "1K", "100"} <= texts(tmp_path / "a.svg")


def test_the_same_values_give_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        pictures.curves(tmp_path / name, "A title", TIMES, "time, us")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("nodes", [2, 16, 600])
def test_the_heat_map_names_hosts_as_far_as_they_can_be_read(tmp_path, nodes):
    half = nodes // 2
    values = np.full((half, half), 900.0)
    hosts = tuple(f"node{rank}" for rank in range(nodes))
    matrix = PairMatrix(np.arange(half), half + np.arange(half), values, hosts)
    pictures.heat_map(tmp_path / "m.svg", "A title", matrix)
    named = {text for text in texts(tmp_path / "m.svg") if text.startswith("node")}
    assert {"node0", f"node{half}"} <= named
    assert len(named) <= 80
    if nodes <= 16:
        assert named == set(hosts)


def test_unmeasured_pairs_and_untrusted_names_are_no_trouble(tmp_path):
    values = np.array([[900.0, np.nan], [np.nan, 450.0]])
    matrix = PairMatrix(np.array([0, 1]), np.array([2, 3]), values, ("<b>$x^2", "a&b", "c\x1b", "ü"))
    pictures.heat_map(tmp_path / "m.svg", "$ <script>", matrix)
    assert {"<b>$x^2", "a&b", "c?", "ü", "$ <script>"} <= texts(tmp_path / "m.svg")
    pictures.bandwidth_histogram(tmp_path / "h.svg", "A title", matrix, 900.0)
    assert {"link/1", "link/2", "number of pairs"} <= texts(tmp_path / "h.svg")


def test_png_for_those_who_need_it(tmp_path):
    pictures.curves(tmp_path / "a.png", "A title", TIMES, "time, us")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_distributions_have_a_row_for_each_name(tmp_path):
    rates = {"ideal": np.full(9, 900.0), "shared": np.array([300.0, 450.0, 900.0])}
    name = pictures.distributions(tmp_path / "d.svg", "A title", rates, {"shared": "33 % of ideal"})
    assert name == "d.svg"
    assert {"A title", "ideal", "shared: 33 % of ideal", "share of the pairs, %"} <= texts(tmp_path / "d.svg")


def test_matrix_and_histogram_in_one_picture(tmp_path):
    values = np.full((32, 32), 900.0)
    values[3, 4] = 300.0
    matrix = PairMatrix(np.arange(32), 32 + np.arange(32), values, tuple(f"n{rank}" for rank in range(64)))
    for name in ("a.svg", "b.svg"):
        pictures.pair_bandwidths(tmp_path / name, "A title", matrix, 900.0)
    assert {"A title", "n0", "n32", "sender", "receiver", "link/3", "number of pairs"} <= texts(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_is_of_the_kind_that_its_ending_says(tmp_path):
    for name, start in (("a", b"<?xml"), ("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG")):
        assert pictures.curves(tmp_path / name, "title", {"one": {8: 1.0, 16: 2.0}}, "MB/s") == name
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(FabricError, match=r"no picture can be written as '.foo'; end the name in .svg or .png"):
        pictures.curves(tmp_path / "a.foo", "title", {"one": {8: 1.0}}, "MB/s")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.svg", "a.PNG"}


def test_names_in_a_picture_are_short_printable_lines():
    assert pictures.label("a\x1b\nb") == "a? b"
    assert len(pictures.label("x" * 1000)) == 140
