# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program hot_spot."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import hot_spot

SIZES = hot_spot.message_sizes()
GOLDEN = {2: "hot_spot/mpich-5.0.2.txt", 5: "hot_spot/mpich-5.0.2.5ranks.txt"}


@pytest.mark.parametrize(
    ("old", "new", "slaves", "message"),
    [
        ("", "", 3, "the row of size_B 64, slaves 1 was expected, found that of size_B 8, slaves 4"),
        ("# slaves: 1 2 3 4", "# slaves: 1 2 3", 4, "the header lists '1 2 3' as numbers of slaves, expected 1 2 3 4"),
        ("\n64 2 ", "\n64 3 ", 4, "the row of size_B 64, slaves 2 was expected, found that of size_B 64, slaves 3"),
    ],
)
def test_other_slaves_than_expected_are_refused(golden, old, new, slaves, message):
    with pytest.raises(OutputError, match=message):
        hot_spot.parse(golden(GOLDEN[5]).replace(old, new, 1), SIZES, list(range(1, slaves + 1)))


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a")])
def test_a_header_that_contradicts_itself_is_refused_at_its_line(golden, one, other):
    text = "\n" + golden(GOLDEN[2]).replace("# clock resolution", f"# of: {one}\n# of: {other}\n# clock resolution")
    with pytest.raises(OutputError, match="^line 6: the header gives 'of' twice, with different values$"):
        hot_spot.parse(text, SIZES, [1])


def test_lines_before_the_output_count(golden):
    text = "\n" + golden(GOLDEN[2]).replace("hot_spot 1", "overlap 1")
    with pytest.raises(OutputError, match="^line 2: expected the output of hot_spot, found that of 'overlap'$"):
        hot_spot.parse(text, SIZES, [1])


def test_sizes_and_slaves():
    assert SIZES == [8, 64, 512, 4096, 32768]
    assert hot_spot.message_sizes(1, 63) == [1, 8]
    assert hot_spot.message_sizes(1, 64) == [1, 8, 64]
    assert hot_spot.slave_counts(2) == [1]
    assert hot_spot.slave_counts(9) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert hot_spot.slave_counts(10) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert hot_spot.slave_counts(17) == [1, 2, 3, 4, 5, 6, 7, 8, 16]
    assert hot_spot.slave_counts(128) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 127]
