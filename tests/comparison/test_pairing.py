# SPDX-License-Identifier: BSD-3-Clause
"""Which fields of the machine sides have to share."""

import pytest

from fabric_checks.comparison.compare import machine_key
from fabric_checks.core.errors import RecordError
from tests.comparison.making import frame, runs

ALL = ("system", "partition", "environ")


@pytest.mark.parametrize(
    ("one", "two", "key"),
    [
        ([{}], [{}], ALL),
        ([{}], [{"system": "s"}], ("partition", "environ")),
        ([{}], [{"system": "s", "partition": "p", "environ": "e"}], ()),
        ([{}, {"partition": "p"}], [{"partition": "p"}], ALL),
        ([{}, {"environ": "e"}], [{"environ": "e", "system": "s"}], ("partition", "environ")),
    ],
)
def test_what_has_to_agree(one, two, key):
    records = [runs("A", [1], **own) for own in one] + [runs("B", [1], **own) for own in two]
    assert machine_key(frame(*records), "A", "B") == key


def test_several_values_and_none_in_common():
    records = [runs("A", [1], system=name) for name in "pqrstu"] + [runs("B", [1])]
    with pytest.raises(
        RecordError, match=r"p, q, r, s and 2 more against cluster.*narrow 'A' to one, as in PATH,system=p$"
    ):
        machine_key(frame(*records), "A", "B")
