# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program buffer_reuse."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import buffer_reuse
from tests import breakages

SIZES = buffer_reuse.message_sizes()
GOLDEN = "buffer_reuse/mpich-5.0.2.txt"


def test_other_shares_than_expected(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="the row of size_B 1024, reuse_percent 50 was expected, found that of"):
        buffer_reuse.parse(text, SIZES, [0, 50, 100])
    lines = text.splitlines(keepends=True)
    index = next(i for i, line in enumerate(lines) if line.startswith("4096 25 "))
    with pytest.raises(OutputError, match="a share of reused buffers was expected, found '25%'"):
        buffer_reuse.parse(breakages.replaced(lines, index, 1, "25%"), SIZES)


def test_sizes():
    assert SIZES == [1024, 4096, 16384, 65536, 262144, 1048576, 4194304]
    assert buffer_reuse.message_sizes(1, 15) == [1, 4]
