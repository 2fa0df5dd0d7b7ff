# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs: what all formats share."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices.model import End, Row, of_rows, unit

A, B, GPU = End("a"), End("b"), End("a", "gpu 0")


def test_the_same_pair_again_is_its_next_repeat():
    rows = [Row(A, B, 1.0), Row(B, A, 2.0), Row(A, B, 3.0)]
    table = of_rows("X", "bandwidth", rows, alone=None)
    assert table.repeat.tolist() == [0, 0, 1] and table.ends == (A, B) and len(table) == 3
    assert of_rows("X", "bandwidth", rows, alone=None, both_ways=True).repeat.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ([], {}, "no pair with a value"),
        ([Row(A, A, 1.0, 4)], {}, "line 4: 'a' is paired with itself"),
        ([Row(A, B, 0.0, 4)], {}, "line 4: a to b is 0; a value above 0"),
        ([Row(A, B, float("nan"))], {}, "a to b is nan"),
        ([Row(A, B, 1.0), Row(A, B, 1.0, 5)], {"most_repeats": 1}, "line 5: a to b is there more than 1 times"),
        ([Row(A, B, 1.0), Row(GPU, B, 1.0)], {}, "'a' occurs with a device ('gpu 0') and without one"),
        ([Row(End(" "), B, 1.0)], {}, "has no name"),
        ([Row(A, B, 1.0, None, 7), Row(B, A, 1.0, None, 7)], {}, "measured alone have the same round"),
    ],
)
def test_what_contradicts_itself_is_refused(rows, more, message):
    with pytest.raises(OutputError) as caught:
        of_rows("X", "bandwidth", rows, alone=True, **more)
    assert message in str(caught.value)


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
