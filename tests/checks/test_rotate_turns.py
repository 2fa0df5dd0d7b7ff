# SPDX-License-Identifier: BSD-3-Clause
"""The limit of pairs of a night that measures a part of them, and the findings that are held against it."""

from types import SimpleNamespace

import pytest

from tests import loading


@pytest.fixture(scope="module")
def rotate(of_module):
    cases = loading.cases("cbc", set_up=False, suite="fabric")
    name = "Rotate %pattern=round-robin %layout=16x1"
    found, *_ = [
        case.check for case in cases if case.check.display_name.startswith(name)
    ]
    return found


@pytest.mark.parametrize("measured, name", [(64, "pair of turn 3"), (240, "pair")])
def test_the_limit_of_pairs_has_the_name_of_the_turn_that_measured_them(
    rotate, measured, name
):
    rotate.report = SimpleNamespace(
        limits={"node": 0.1, "pair": 0.2, "cable": None},
        output=SimpleNamespace(
            ordered_pairs=(measured, 240), header={"options": "shifts 8 turn 3"}
        ),
    )
    found = [{"kind": "pair", "data": {"ranks": [1, 2]}}, {"kind": "sender"}]
    assert rotate._limits(found) == {"node": 0.1, name: 0.2, "cable": None}
    assert found[0]["data"].get("limit", "pair") == name
    assert found[1] == {"kind": "sender"}
