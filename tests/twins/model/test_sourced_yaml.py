# SPDX-License-Identifier: BSD-3-Clause
"""Values with their sources, and what is wrong with a file, in one line."""

from pathlib import Path

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.sourced_yaml import Source, Sources, content, sources_by_kind


def test_a_value_has_its_own_source_or_that_of_its_section():
    sources = Sources(Path("twin.yaml"))
    below = {
        "source": {"fitted": "Table 2"},
        "b_us": 2,
        "deeper": {"c_us": {0: 1, 8: 2.5}},
    }
    data = {
        "source": {"assumed": "all"},
        "a_MBps": {"value": 1, "published": "Table 4"},
        "below": below,
        "d": 4,
    }
    taken = {
        "a_MBps": 1,
        "below": {"b_us": 2, "deeper": {"c_us": {0: 1, 8: 2.5}}},
        "d": 4,
    }
    assert sources.taken(data) == taken and not sources.missing
    assert sources.known == {
        "a_MBps": Source("published", "Table 4"),
        "below.b_us": Source("fitted", "Table 2"),
        "d": Source("assumed", "all"),
        "below.deeper.c_us": Source("fitted", "Table 2"),
    }
    assert sources_by_kind(sources.known) == {
        "published": ["a_MBps"],
        "fitted": ["below.b_us", "below.deeper.c_us"],
        "assumed": ["d"],
    }


@pytest.mark.parametrize(
    "data, message",
    [
        (
            {"x_us": 1},
            "x_us: does not say where it comes from; write {value: ..., published: ...}, or fitted or assum",
        ),
        (
            {"x_us": {"value": 1}},
            "x_us: no source; write one of published, fitted and assumed, with a text",
        ),
        (
            {"a": {"source": {"fitted": "y", "assumed": "z"}}},
            "a.source: no source; write one of",
        ),
    ],
)
def test_a_value_without_a_source_is_one_line(data, message):
    sources = Sources(Path("twin.yaml"))
    with pytest.raises(TwinError) as caught:
        sources.taken(data)
        sources.require_all()
    assert f"twin.yaml: {message}" in str(caught.value) and "\n" not in str(
        caught.value
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [", r"twin\.yaml:[12]: not valid YAML"),
        (
            "a: 1\nb: 2\na: 3",
            r"twin\.yaml:3: not valid YAML: the key 'a' is there twice",
        ),
        (None, r"twin\.yaml: cannot be read: No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, text, message):
    if text is not None:
        (tmp_path / "twin.yaml").write_text(text)
    with pytest.raises(TwinError, match=message):
        content(tmp_path / "twin.yaml")
