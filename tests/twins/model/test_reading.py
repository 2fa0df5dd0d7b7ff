# SPDX-License-Identifier: BSD-3-Clause
"""Values with their sources, and what is wrong with a file, in one line."""

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.reading import Source, read, sources_by_kind


@pytest.fixture
def section(tmp_path):
    def write(text):
        (tmp_path / "twin.yaml").write_text(text)
        return read(tmp_path / "twin.yaml")

    return write


def test_a_value_has_its_own_source_or_that_of_its_section(section):
    top = section(
        "source: {assumed: all}\na_MBps: {value: 1, published: Table 4}\nbelow:\n  source: {fitted: Table 2}\n"
        "  b_us: 2\n  deeper: {c_us: {0: 1, 8: 2.5}}\nd: 4\n"
    )
    below = top.section("below")
    assert (top.number("a_MBps"), below.number("b_us"), top.count("d")) == (1, 2, 4)
    assert below.section("deeper").table("c_us") == ((0, 1.0), (8, 2.5))
    top.finish()
    below.finish()
    assert top.sources == {
        "a_MBps": Source("published", "Table 4"),
        "below.b_us": Source("fitted", "Table 2"),
        "d": Source("assumed", "all"),
        "below.deeper.c_us": Source("fitted", "Table 2"),
    }
    assert sources_by_kind(top.sources) == {
        "published": ["a_MBps"],
        "fitted": ["below.b_us", "below.deeper.c_us"],
        "assumed": ["d"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x_us: 1", "x_us: does not say where it comes from; write {value: ..., published: ...}, or fitted or assumed"),
        ("x_us: {value: 1}", "x_us: no source; write one of published, fitted and assumed, with a text"),
        ("x_us: {value: 1, guessed: y}", "x_us: no source; write one of"),
        ("x_us: {value: 1, fitted: y, assumed: z}", "x_us: no source; write one of"),
        ("source: {fitted: y}\nx: 1", "x: has no unit; write x_us"),
        ("source: {fitted: y}\nxx_us: 1", "x_us: is missing; write a number"),
        ("source: {fitted: y}\nx_us: 1 us", "x_us: '1 us' is not a number; write one, without a unit"),
        ("source: {fitted: y}\nx_us: yes", "x_us: 'True' is not a number"),
        ("source: {fitted: y}\nx_us: .nan", "x_us: 'nan' is not a number"),
        ("source: {fitted: y}\nx_us: -1", "x_us: -1 is too small; write a number above 0"),
        ("source: {fitted: y}\nx_us: 0", "x_us: 0 is too small; write a number above 0"),
        ("source: {fitted: y}\nx_us: 1\nx_uss: 2", "x_uss: unknown key; did you mean x_us?"),
        ("source: {fitted: y}\nx_us: 1\nqqq: 2", "qqq: unknown key; known keys are source, x_us"),
    ],
)
def test_a_wrong_value_is_one_line(section, text, message):
    with pytest.raises(TwinError) as caught:
        top = section(text)
        top.number("x_us")
        top.finish()
    printed = str(caught.value)
    assert message in printed and "twin.yaml: " in printed and "\n" not in printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t_us: {8: 1, 0: 2}", "t_us: the sizes do not increase; write them in order"),
        ("t_us: {}", "t_us: the table is empty; write {0: ...}"),
        ("t_us: {4K: 1}", "t_us: '4K' is not a message size; write whole bytes"),
        ("t_us: {0: -1}", "t_us.0: -1 is too small; write a number at least 0"),
    ],
)
def test_a_wrong_table_is_one_line(section, text, message):
    with pytest.raises(TwinError, match=message.replace("{", r"\{").replace("}", r"\}").replace(".", r"\.")):
        section(f"source: {{fitted: y}}\n{text}").table("t_us")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", r"twin\.yaml:[12]: not valid YAML"),
        ("a: 1\nb: 2\na: 3", r"twin\.yaml:3: not valid YAML: the key 'a' is there twice"),
        ("[1]", r"twin\.yaml: a mapping is expected here, not '\[1\]'"),
    ],
)
def test_a_file_without_a_mapping_is_one_line(section, text, message):
    with pytest.raises(TwinError, match=message):
        section(text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TwinError, match=r"none\.yaml: cannot be read: No such file"):
        read(tmp_path / "none.yaml")
