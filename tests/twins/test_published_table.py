# SPDX-License-Identifier: BSD-3-Clause
"""The table of published against simulated, from values that are given; the real ones are in
test_published."""

import re
from dataclasses import replace

from fabric_twins import published_table
from tests.twins.simulation import shipped


def given(*twins, factor=1.0):
    return {
        twin.name: [
            {each.metric: each.value * factor for each in case.values}
            for case in twin.cases
        ]
        for twin in twins
    }


def part(text, title):
    """Return the section below a title."""
    return text.split(f"\n## {title}")[1].split("\n## ")[0]


def test_the_readme_has_every_row_of_the_descriptions():
    """But for what the twins give, which is held to simulations."""
    twins = published_table.shipped()
    texts = (
        published_table.README.read_text(),
        published_table.text(twins, given(*twins)),
    )
    page, rows = (
        re.sub(r"(?m)^((?:\|[^|\n]*){3})\|[^|\n]*\|[^|\n]*", r"\1", text)
        for text in texts
    )
    assert page == rows


def test_fitted_predicted_and_not_reproduced_stand_apart():
    twin = shipped("feynman")
    text = published_table.text([twin], given(twin, factor=1.01))
    assert "two_pairs_on_a_link" in part(text, "Fitted: 2 values")
    assert "three_pairs_on_a_link" in part(text, "Predicted: 2 values")
    failed = part(text, "Not reproduced: 1 values")
    assert (
        "four_pairs_on_a_link` | 277 MB/s | 279.8 | +1.00 % | ROTATE | four flows that share"
        in failed
    )
    assert text.count("_on_a_link") == 4


def test_a_contradicted_statement_has_its_reason():
    twin = shipped("osu-ib")
    statement = replace(twin.statements[0], not_reproduced="no data")
    twin = replace(twin, statements=(statement, *twin.statements[1:]))
    table = part(
        published_table.text([twin], given(twin)), "Statements without a number: 3"
    )
    assert table.count("| does not: no data |") == 1 and table.count("| does so |") == 1


def test_no_difference_has_no_sign():
    twin = shipped("itanium2-ib")
    text = published_table.text([twin], given(twin))
    assert "| 0.00 % |" in text and "+0.00 %" not in text
