# SPDX-License-Identifier: BSD-3-Clause
"""The published schemas are those that files are held to."""

import json
import runpy

import pytest
import yaml
from jsonschema import Draft7Validator

from fabric_checks.core.paths import ROOT

TEXTS = runpy.run_path(str(ROOT / "ci/schemas"))["texts"]()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_published_schema_is_up_to_date(path):
    Draft7Validator.check_schema(json.loads(TEXTS[path]))
    assert path.read_text() == TEXTS[path], "stale; write it anew with ci/schemas"


def test_every_published_schema_has_its_type():
    assert set((ROOT / "docs/schemas").iterdir()) == set(TEXTS)


@pytest.mark.parametrize(
    "name, files",
    [
        ("references", "config/references/*.yaml"),
        ("clauses", "config/clauses/*.yaml"),
        ("offers", "docs/offers.yaml"),
    ],
)
def test_editors_take_what_is_shipped(name, files):
    schema = Draft7Validator(
        json.loads((ROOT / f"docs/schemas/{name}.json").read_text())
    )
    for path in ROOT.glob(files):
        content = yaml.safe_load(path.read_text())
        assert not [
            error.message
            for error in schema.iter_errors(
                json.loads(json.dumps(content, default=str))
            )
        ], path
