# SPDX-License-Identifier: BSD-3-Clause
"""A page judges misses by their repeats as the screen does, and shows the values measured first."""

import pytest

from fabric_checks.records.sources import Source
from fabric_checks.report import page
from fabric_checks.report.findings import verdict_of
from tests import builders
from tests.records.test_repeats import MET, MISS, repeated, value


@pytest.mark.parametrize(("again", "verdict", "says"), [
    ((MET, MET), "passed", "not confirmed 1 of 3: 3, 2, 2 us"),
    ((MISS, MISS), "findings", "confirmed 3 of 3: 3, 3, 3 us"),
])  # fmt: skip
def test_a_page_judges_as_the_screen_does(tmp_path, again, verdict, says):
    builders.write(tmp_path / "A.jsonl", [value(MISS), *repeated(*again)])
    text, results = page.report([Source("a", tmp_path)], published=False)
    assert says in text
    assert [each.median for each in results.values] == [MISS]
    assert verdict_of(results.last).value == verdict
    word = {"passed": "missed once, not confirmed", "findings": "missed"}[verdict]
    assert [each.verdict for each in results.values] == [word]
