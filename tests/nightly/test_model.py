# SPDX-License-Identifier: BSD-3-Clause
"""An acknowledgement is exceeded by grown or other signs, and is a line of the journal."""

import json

import pytest

from fabric_checks.nightly.journal import Open
from fabric_checks.nightly.model import Acknowledgement
from tests.nightly.samples import acknowledged, finding


def of(signs):
    return acknowledged(Open(finding(signs=signs), "a", "a", id="abcd"))


@pytest.mark.parametrize(
    ("lost", "more"),
    [(500.0, []), (549.0, []), (551.0, ["pair n1 n2, us 500 then, 551 now"])],
)
def test_a_sign_in_microseconds_grows_by_a_tenth_of_itself(lost, more):
    assert of({"pair n1 n2, us": 500.0}).beyond(finding(signs={"pair n1 n2, us": lost})) == more


def test_of_several_signs_each_counts():
    known = of({"sender n3": 0.5, "A: m": 0.2})
    assert known.beyond(finding(signs={"A: m": 0.25})) == []
    assert known.beyond(finding(signs={"sender n3": 0.9, "A: m": 0.2, "B: m": 0.0})) == [
        "sender n3, 50 % lost then, 90 % now",
        "B: m",
    ]


def test_a_line_has_all_of_it():
    known = of({"sender n3": 0.5})
    assert Acknowledgement.of(json.loads(json.dumps(known.as_dict()))) == known


@pytest.mark.parametrize(
    "changes", [{"until": "soon"}, {"until": 7}, {"signs": []}, {"signs": {"a": "b"}}, {"by": None}, {"reason": ["x"]}]
)
def test_another_value_is_no_acknowledgement(changes):
    with pytest.raises((TypeError, ValueError)):
        Acknowledgement.of(of({"a": 0.5}).as_dict() | changes)
