# SPDX-License-Identifier: BSD-3-Clause
"""A folder that cannot be searched is said, and is no run without values."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric_checks.cli.main import cli
from fabric_checks.core.errors import FabricError
from tests.builders import write_session
from tests.references.records import record, write

SESSION = record(0)["session"]
NOBODY = 65534


@contextmanager
def an_ordinary_user():
    """Be nobody for a while: nothing is closed to root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.fixture
def results():
    """Return a folder of results that an ordinary user can reach: those of pytest are closed to others."""
    parent = Path(tempfile.mkdtemp())
    parent.chmod(0o755)
    folder = write(parent / "results", [record(day) for day in range(3)])
    write_session(folder, [], session=SESSION)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(parent)


VERBS = (f"show --session {SESSION}", "report -o /dev/null", "changes")


FOLDERS = ("perflogs", "perflogs/yours", "perflogs/yours/compute")


@pytest.mark.parametrize("verb", [each.split() for each in VERBS], ids=VERBS)
@pytest.mark.parametrize("closed", [*FOLDERS, f"{FOLDERS[-1]}/OsuLatency.jsonl"])
def test_what_cannot_be_searched_or_read_is_named(results, verb, closed):
    CliRunner().invoke(
        cli, [*verb, str(results)]
    )  # what it imports, nobody may not be able to read
    (results / closed).chmod(0o644 if (results / closed).is_dir() else 0o200)
    with an_ordinary_user():
        done = CliRunner().invoke(cli, [*verb, str(results)])
    assert done.exit_code != 0
    assert done.exception is None or isinstance(
        done.exception, SystemExit | FabricError | OSError
    ), done.exception
    said = f"{done.output}{done.exception}"
    assert "Permission denied" in said and str(results / closed) in said


def contents(folder):
    """Return all below a folder, with the times of the last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("verb", [*VERBS, "show --list", "findings"])
def test_a_colleague_reads_what_only_its_owner_can_write(results, verb, monkeypatch):
    monkeypatch.setenv("FABRIC_RESULTS", str(results))
    monkeypatch.setenv("HOME", "/nonexistent")
    CliRunner().invoke(cli, verb.split())  # imports, as above
    before = contents(results)
    with an_ordinary_user():
        done = CliRunner().invoke(cli, verb.split())
    assert (done.exit_code, done.exception) == (0, None), done.output
    assert contents(results) == before
