# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs: what all formats share."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices.model import End, PairTable, Row, unit
from tests.breakages import refused

A, B, GPU = End("a"), End("b"), End("a", "gpu 0")


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "no pair with a value"),
        ([Row(A, A, 1.0, 4)], "line 4: 'a' to 'a' is 1; two ends"),
        ([Row(A, B, 0.0, 4)], "line 4: 'a' to 'b' is 0; two ends and a value above 0"),
        ([Row(A, B, float("nan"))], "'a' to 'b' is nan"),
        (
            [Row(A, B, 1.0), Row(GPU, B, 1.0)],
            "'a' occurs with a device ('gpu 0') and without one",
        ),
        ([Row(End(" "), B, 1.0)], "' ' is no printable name of at most 255 characters"),
        ([Row(End("a\ufeff"), B, 1.0)], "is no printable name"),
        ([Row(A, End("b" * 256), 1.0)], "bbb' is no printable name"),
    ],
)
def test_what_contradicts_itself_is_refused(rows, message):
    with pytest.raises(OutputError) as caught:
        PairTable("X", "bandwidth", tuple(rows), alone=True)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text, found",
    [
        ("GB/s", ("bandwidth", 1000.0)),
        ("Gbit/s", ("bandwidth", 125.0)),
        ("TB/s", ("bandwidth", 1e6)),
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
    with refused("is no unit of bandwidth"):
        unit(text)
