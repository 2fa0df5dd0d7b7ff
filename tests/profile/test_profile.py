# SPDX-License-Identifier: BSD-3-Clause
"""The parser of profiles."""

import re

import pytest

from fabric_profile import profile
from tests.breakages import refused

GOLDEN = "profile/mpich-5.0.2-lammps-lj.4ranks.txt"


def test_a_real_profile(golden):
    text = golden(GOLDEN)
    found = profile.parse(text, 4)
    assert found.mpi.startswith("MPICH Version:") and len(found.ranks) == 4
    rows = re.findall(r"(?m)^call (\S+) \d+ \S+ \d+ (\d+) (\d+) ", text)
    for column, name in ((1, "count"), (2, "bytes")):
        total = sum(int(row[column]) for row in rows)
        assert (
            total
            == sum(getattr(calls, name) for rank in found.ranks for calls in rank.calls)
            > 0
        )
    sends = [calls for calls in found.ranks[0].calls if calls.call == "Send"]
    assert {calls.kind for calls in sends} == {"send"} and {
        calls.comm_size for calls in sends
    } == {4}
    assert all(
        calls.size_B * calls.count <= calls.bytes < 2 * calls.size_B * calls.count
        for calls in sends
        if calls.power
    )
    assert set(found.ranks[0].partners) == {1, 2}


@pytest.mark.parametrize(
    "pattern, replacement, message",
    [
        (r"(?s)^# fabric", "x fabric", "this is not a profile"),
        (r"profile 1", "profile 2", r"has format '2', but only 1 is known"),
        (r"# complete: .*\n", "", "the profile is cut"),
        (
            r"(?s)rank 3.*?(?=# complete)",
            "",
            "4 ranks were profiled, found 3: a rank is lost",
        ),
        (r"(?s)rank 2.*?(?=rank 3)", "", "rank 2 was expected, found '3'"),
        (r"# mpi: .*\n", "", "the header line '# mpi: ...' was expected"),
        (r"call Send ", "call Teleport ", "'Teleport' is an unknown call"),
        (r"call (\S+) 4 intra", r"call \1 4 extra", "'intra' or 'inter' was expected"),
        (
            r"call Send .*\n",
            "",
            "a row 'call ...' was expected|a row 'rank ...' was expected",
        ),
        (r"(call Send .*\n)", r"\1\1", "do not add up"),
        (r"(call Send \d+ \S+ \d+ \d+ \d+) \S+", r"\1 1000.000000000", "do not add up"),
        (r"(call Send \d+ \S+ \d+ \d+ \d+) \S+", r"\1 nan", "not a finite number"),
        (r"(call Send \d+ \S+) \d+", r"\1 64", "the profile is damaged"),
        (r"(call Send \d+ \S+ \d+) \d+", r"\1 1_0", "a count was expected"),
        (r"to 1 ", "to one ", "a rank was expected"),
    ],
)
def test_a_broken_profile_is_refused(golden, pattern, replacement, message):
    text = golden(GOLDEN)
    broken = re.sub(pattern, replacement, text, count=1)
    assert broken != text
    with refused(message) as caught:
        profile.parse(broken, 4)
    assert "\n" not in str(caught.value)


def test_another_number_of_ranks(golden):
    with refused("the profile has 4 ranks, expected 8"):
        profile.parse(golden(GOLDEN), 8)


def test_a_partner_that_is_not_known(golden):
    text = re.sub(r"to 1 ", "to -1 ", golden(GOLDEN), count=1)
    assert set(profile.parse(text).ranks[0].partners) == {-1, 2}


def test_a_bad_count_is_named_with_its_line(golden):
    text = golden(GOLDEN)
    line = text[: text.index("\nto 1 ")].count("\n") + 2
    with refused(f"line {line}: a count was expected"):
        profile.parse(text.replace("\nto 1 ", "\nto 1 x", 1))
