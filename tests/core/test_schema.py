# SPDX-License-Identifier: BSD-3-Clause
"""What a site writes is held to a type: an instance, or one line with place, cause and remedy."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft7Validator

from fabric_checks.core import schema
from fabric_checks.core.schema import (
    Count,
    Pattern,
    Positive,
    SchemaError,
    Text,
    option,
)


@dataclass(frozen=True, kw_only=True)
class Item:
    name: Text = option("what it is called", ...)
    match: Pattern = option("which tests", ".*")
    low: Positive | None = option("the lower bound")
    high: Positive | None = option("the upper bound")

    def __post_init__(self):
        if self.low and self.high and self.low > self.high:
            raise ValueError("low is above high; swap them")


@dataclass(frozen=True, kw_only=True)
class Top:
    items: tuple[Item, ...] = option("the items", ())
    period: dict[Literal["from", "to"], date] = option("the days", make=dict)
    of: Literal["median"] | Item | None = option("what it is divided by")
    counts: Mapping[str, Count] = option("by name", make=dict)
    more: dict[str, Any] | None = option("anything")


def test_an_instance_has_the_types_of_its_fields():
    found = schema.convert(
        {
            "items": [{"name": 7, "low": 1}],
            "period": {"from": date(2026, 1, 2)},
            "of": {"name": Path("a")},
            "counts": {1: 2},
            "more": None,
        },
        Top,
        "here",
    )
    assert found == Top(
        items=(Item(name="7", low=1.0),),
        period={"from": date(2026, 1, 2)},
        of=Item(name="a"),
        counts={"1": 2},
    )


@pytest.mark.parametrize(
    "data, line",
    [
        (None, "here is null; give a mapping"),
        ({"itens": []}, "here: itens: unknown; did you mean items?"),
        ({"x": 1}, "here: x: unknown; known: items, period, of, counts, more"),
        ({"items": [{"nane": "a"}]}, "here: items: 0: nane: unknown; did you mean name?"),
        ({"items": [{}]}, "here: items: 0: 'name' is missing: a text (what it is called)"),
        ({"items": [{"name": " "}]}, "here: items: 0: name is ' '; give a text (what it is called)"),
        ({"of": {"name": "a", "match": "("}},
         "here: of: match is '('; give a regular expression (which tests)"),
        ({"items": [{"name": "a", "low": 3, "high": 2}]}, "here: items: 0: low is above high; swap them"),
        ({"items": {}}, "here: items is {}; give a list, each a mapping (the items)"),
        ({"period": {"form": 1}}, "here: period: form: unknown; did you mean from?"),
        ({"period": {"to": "2026-02-30"}}, "here: period: to is '2026-02-30'; give a date, as in 2026-11-01"),
        ({"of": "mean"}, "here: of is 'mean'; give one of median or a mapping (what it is divided by)"),
        ({"of": {"name": "a", "low": -1}}, "here: of: low is -1; give a number above 0 (the lower bound)"),
        ({"counts": {"a": 0}}, "here: counts: a is 0; give a whole number of at least 1"),
        ({"counts": {"a": float("inf")}}, "here: counts: a is inf; give a whole number of at least 1"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_its_place_and_remedy(data, line):
    with pytest.raises(SchemaError) as caught:
        schema.convert(data, Top, "here")
    assert str(caught.value) == line


def test_a_fault_of_a_file_has_its_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("counts: {a: 1}\nitems:\n- name: a\n- name: b\n  lo: 3\n")
    with pytest.raises(
        SchemaError, match=r"a\.yaml:5: items: 1: lo: unknown; did you mean low\?"
    ):
        schema.read(path, Top)
    path.write_text("a: [")
    with pytest.raises(SchemaError, match="not valid YAML"):
        schema.read(path, Top)


def test_its_json_schema_is_one_that_says_the_same():
    found = json.loads(json.dumps(schema.json_schema(Top)))
    Draft7Validator.check_schema(found)
    assert found["additionalProperties"] is False and found["properties"]["items"][
        "items"
    ]["required"] == ["name"]
    assert Draft7Validator(found).is_valid({"items": [{"name": "a"}], "of": None})
    assert not Draft7Validator(found).is_valid({"of": 3})
