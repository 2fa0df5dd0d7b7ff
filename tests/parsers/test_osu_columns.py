# SPDX-License-Identifier: BSD-3-Clause
"""The columns of OSU's tables, by their titles in every release."""

import re

import pytest

from fabric_checks.parsers import osu_columns
from tests.breakages import refused
from tests.conftest import GOLDEN


def titles():
    """Return every line of column titles in the golden outputs."""
    lines = set()
    for path in (*(GOLDEN / "osu").rglob("*.txt"), *(GOLDEN / "osu-py").rglob("*.txt")):
        lines |= {
            line
            for line in path.read_text().splitlines()
            if re.match(r"#.*[(\[](us|MB/s)[)\]]|# Size", line)
        }
    return sorted(lines)


@pytest.mark.parametrize("line", titles())
def test_every_title_of_every_release_is_known(line):
    names = osu_columns.read(line, 1)
    assert len(names) == len(re.split(r"\s{2,}|(?<=[)\]])\s", line.lstrip("# ")))
    assert ("size_B" in names) == ("Size" in line)


@pytest.mark.parametrize(
    "line",
    [
        "# Size  Foo",
        "# Size  Latency (ms)",
        "# Size  Latency (us)x",
        "# Size  latency (us)",
    ],
)
def test_a_title_that_no_release_prints(line):
    with refused("line 7: '.*' is not an OSU column title"):
        osu_columns.read(line, 7)


@pytest.mark.parametrize(
    "kind, names",
    [
        (osu_columns.LATENCY, "size_B latency_us latency_us"),
        (osu_columns.LATENCY, "size_B latency_us min_latency_us"),
        (osu_columns.BANDWIDTH, "size_B bandwidth_MBps message_rate_per_s"),
        (osu_columns.NON_BLOCKING, "size_B overall_us compute_us pure_comm_us"),
    ],
)
def test_columns_of_another_kind(kind, names):
    with refused(
        f"the columns {names} are not those of this benchmark, a test of {kind}"
    ):
        osu_columns.require(names.split(), kind, has_sizes=True, line_number=1)
