# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs: what all formats share."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices.model import End, PairTable, Row, unit

A, B, GPU = End("a"), End("b"), End("a", "gpu 0")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no pair with a value"),
        ([Row(A, A, 1.0, 4)], "line 4: 'a' is paired with itself"),
        ([Row(A, B, 0.0, 4)], "line 4: a to b is 0; a value above 0"),
        ([Row(A, B, float("nan"))], "a to b is nan"),
        ([Row(A, B, 1.0), Row(GPU, B, 1.0)], "'a' occurs with a device ('gpu 0') and without one"),
        ([Row(End(" "), B, 1.0)], "has no name that can be printed: ' '"),
        ([Row(End("a\ufeff"), B, 1.0)], "has no name that can be printed"),
        ([Row(A, B, 1.0, None, 7), Row(B, A, 1.0, None, 7)], "measured alone have the same round"),
    ],
)
def test_what_contradicts_itself_is_refused(rows, message):
    with pytest.raises(OutputError) as caught:
        PairTable("X", "bandwidth", tuple(rows), alone=True)
    assert message in str(caught.value)


def test_a_pair_may_be_measured_often_in_a_round_of_its_own():
    assert len(PairTable("X", "bandwidth", (Row(A, B, 1.0, None, 7),) * 3, alone=True).rows) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GB/s", ("bandwidth", 1000.0)),
        ("Gbit/s", ("bandwidth", 125.0)),
        ("Gbps", ("bandwidth", 125.0)),
        ("MiB/s", ("bandwidth", 1.048576)),
        ("MB/sec", ("bandwidth", 1.0)),
        ("usec", ("latency", 1.0)),
        ("s", ("latency", 1e6)),
    ],
)
def test_units_become_megabytes_and_microseconds(text, found):
    assert unit(text) == found


@pytest.mark.parametrize("text", ["", "%", "mb/s", "furlongs", "GB"])
def test_an_unknown_unit_is_refused(text):
    with pytest.raises(OutputError, match=r"line 3: .* is no unit of bandwidth"):
        unit(text, 3)
