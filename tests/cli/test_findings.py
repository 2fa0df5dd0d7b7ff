# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks findings` and its acknowledgements, on journals of nights."""

import json
import os

import pytest

from fabric_checks.core import locks
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import journal
from tests import calling
from tests.nightly.samples import finding, night

ALL = ["--reason", "cable is ordered", "--ticket", "HW-1", "--until", "2999-12-31"]


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Return the journals of two systems, each with a finding that is open."""
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    found = {
        name: tmp_path / "nightly" / name / "nights.jsonl" for name in ("elm", "oak")
    }
    for name, path in found.items():
        path.parent.mkdir(parents=True)
        journal.append(
            path, night(1, finding(name, title=f"node {name}1 is slow\x1b[31m"))
        )
    return found


def call(command, *arguments):
    """Call a command; return its exit status and what it said, or the error that it ends by."""
    done = calling.invoke(command, *arguments)
    return (
        (1, str(done.exception))
        if isinstance(done.exception, FabricError)
        else (done.exit_code, done.output)
    )


def open_of(path):
    (entry,) = journal.still_open(journal.read(path, []))
    return entry


def test_a_finding_is_listed_and_acknowledged(paths):
    status, said = call("findings")
    entry = open_of(paths["oak"])
    assert status == 0
    assert f"oak: {entry.id}, since 2026-01-01 21:00: node oak1 is slow?[31m\n" in said
    assert [line.split(":")[0] for line in said.splitlines()] == ["elm", "oak"]
    assert call("findings", "acknowledge", entry.id[:4], *ALL)[0] == 0
    known = open_of(paths["oak"]).acknowledged
    assert known.reason == "cable is ordered"
    assert known.ticket == "HW-1"
    assert known.by == locks.user(os.geteuid())
    assert str(known.until) == "2999-12-31"
    assert open_of(paths["elm"]).acknowledged is None
    assert (
        "acknowledged until 2999-12-31, HW-1: cable is ordered ("
        in call("findings", "--system", "oak")[1]
    )
    told = json.loads(call("findings", "--json")[1])["open"]
    assert told["oak"][0]["acknowledged"]["ticket"] == "HW-1"
    assert told["elm"][0]["acknowledged"] is None


@pytest.mark.parametrize(
    "arguments, status, says",
    [
        (["ffffffff", *ALL], 1, "no finding 'ffffffff' is open"),
        (["", *ALL], 1, "no finding '' is open"),
        (["ID", *ALL[2:]], 2, "missing option '--reason'"),
        (["ID", *ALL[:2], "--ticket", " ", *ALL[4:]], 2, "'--ticket': it is empty"),
        (["ID", *ALL[:4], "--until", "2020-01-01"], 2, "--until needs a day"),
        (["ID", *ALL[:4], "--until", "soon"], 2, "'soon' does not match"),
        (["ID", *ALL, "--system", "../x"], 1, "is not a name"),
        (["ID", *ALL, "--system", "ash"], 1, "no night of 'ash' has run here"),
    ],
)
def test_wrong_usage_changes_no_journal(paths, arguments, status, says):
    before = {name: path.read_bytes() for name, path in paths.items()}
    name = open_of(paths["oak"]).id
    found, said = call(
        "findings",
        "acknowledge",
        *(name if each == "ID" else each for each in arguments),
    )
    assert found == status and says in said
    assert before == {name: path.read_bytes() for name, path in paths.items()}


def test_options_before_the_subcommand_are_refused(paths):
    status, said = call(
        "findings", "--system", "oak", "acknowledge", open_of(paths["oak"]).id, *ALL
    )
    assert status == 2 and "give options behind acknowledge" in said


def test_a_line_that_cannot_be_used_is_named(paths):
    with paths["elm"].open("a") as file:
        file.write("?\n")
    status, said = call("findings")
    assert status == 1
    assert f"{paths['elm']}:2: not a line of a journal" in said
    assert "oak1" in said
