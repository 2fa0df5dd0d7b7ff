# SPDX-License-Identifier: BSD-3-Clause
"""A profile as text, as JSON and as a picture."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fabric_profile import picture
from fabric_profile import profile as parser
from fabric_profile import table as report
from tests.profile.test_evaluation import PROFILE


@pytest.fixture
def found(golden):
    return parser.parse(golden("profile/mpich-5.0.2-lammps-lj.4ranks.txt"))


def test_the_screen(found):
    text = "\n".join(report.as_lines(found))
    assert "4 ranks on 1 host" in text and "32K to 64K" in text and "Allreduce" in text
    assert all(len(line) <= 160 for line in text.splitlines())
    assert "calls are missing" not in text
    assert (
        "7 calls are missing: there were more kinds of them than a profile has room for"
        in report.as_lines(PROFILE)
    )


def test_without_messages():
    silent = replace(
        PROFILE,
        ranks=tuple(
            replace(rank, calls=(), mpi_s=0.0, partners={}) for rank in PROFILE.ranks
        ),
    )
    lines = report.as_lines(silent)
    assert "  no messages" in lines and "  no collectives" in lines
    assert not any("a rank sends" in line for line in lines)


def test_collectives_have_a_table_of_their_own(found):
    """Barriers move nothing; every other call is in one row."""
    lines = report.as_lines(found)
    table = lines[
        lines.index(
            next(line for line in lines if line.startswith("  collectives of, B"))
        )
        + 1 :
    ]
    rows = [re.fullmatch(r"  (.{24}) *([0-9]+) +[0-9.]+ .*", line) for line in table]
    calls = [
        each for rank in found.ranks for each in rank.calls if each.kind == "collective"
    ]
    assert [row[1].strip() for row in rows] == [
        "1",
        "4 to 8",
        "8 to 16",
        "16 to 32",
        "32 to 64",
    ]
    assert sum(int(row[2]) for row in rows) == sum(
        each.count for each in calls if each.call != "Barrier"
    )


def test_json_has_every_row(found):
    data = json.loads(report.as_json(found))
    assert len(data["ranks"]) == 4 and set(data["figures"]) == set(data["units"])
    assert [len(rank["calls"]) for rank in data["ranks"]] == [
        len(rank.calls) for rank in found.ranks
    ]
    assert data["ranks"][0]["sent_to"] == {
        str(to): {"messages": messages, "bytes": sent_B}
        for to, (messages, sent_B) in found.ranks[0].partners.items()
    }
    assert data["ranks"][0]["sent_to"].keys() == {"1", "2"}


@pytest.mark.parametrize("which", ["real", "made up"])
def test_the_picture(found, tmp_path, which):
    name = picture.draw(
        found if which == "real" else PROFILE, tmp_path / "a.svg", "lj $x$ <&>"
    )
    assert name == "a.svg"
    texts = {
        "".join(each.itertext())
        for each in ElementTree.parse(tmp_path / name).iter(
            "{http://www.w3.org/2000/svg}text"
        )
    }
    assert {
        "messages by size, %",
        "of their bytes",
        "time by rank, s",
        "outside of MPI",
        "collective",
        "lj $x$ <&>",
    } <= texts
    assert any(text.startswith("traffic between ranks, MB") for text in texts)
