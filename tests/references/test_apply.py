# SPDX-License-Identifier: BSD-3-Clause
"""Proposals as a patch, and in the file."""

import pytest
import yaml

from fabric_checks.core.errors import ReferenceError
from fabric_checks.references import edit, reference_file
from fabric_checks.references.propose import propose
from tests import programs
from tests.references.records import STANDING, bandwidth, frame, record

BEFORE = "# References of yours.\n\n" + STANDING.format(reference="[1.3, null, 0.02, us]  # accepted")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "yours.yaml"
    path.write_text(BEFORE)
    return path


def apply(path, value=1.3, write=False, allow_looser=False):
    records = [*(record(day, value) for day in range(5)), *(bandwidth(day) for day in range(5))]
    proposals = propose(frame(records), edit.load_or_new(path))
    return edit.apply(path, proposals, write=write, allow_looser=allow_looser, name="references/yours.yaml")


def test_the_comment_says_where_a_reference_is_from(path):
    apply(path, write=True)
    line = next(line for line in path.read_text().splitlines() if "bandwidth_8B" in line)
    assert line == (
        "          bandwidth_8B: [900.0, -0.02, null, MB/s]  # from 5 passes in 5 runs 2026-11-01 to 2026-11-05, bound "
        "by minimum (sigma 0 %), 2 nodes n1 n2, osu 7.5.2, MPICH 4.2.3, gcc 12.2.0, hash abcdef1"
    )


def test_what_is_looser_is_written_only_if_allowed(path):
    held = apply(path, 1.5, write=True)
    assert held.held_back and held.written
    text = path.read_text()
    assert "latency_8B: [1.3, null, 0.02, us]  # accepted\n" in text and "bandwidth_8B" in text
    shown = apply(path, 1.5)
    assert not shown.held_back and "LOOSENED: was [1.3, null, 0.02, us]" in shown.difference
    allowed = apply(path, 1.5, write=True, allow_looser=True)
    assert not allowed.held_back
    assert "latency_8B: [1.5, null, 0.02, us]  # accepted; from 5 passes in 5 runs" in path.read_text()


def test_a_second_time_nothing_changes(path):
    apply(path, write=True)
    before = path.read_text()
    again = apply(path, write=True)
    assert (again.written, again.difference, path.read_text()) == (False, "", before)


def test_a_system_without_a_file_gets_one(tmp_path):
    path = tmp_path / "yours.yaml"
    outcome = apply(path, write=True)
    assert outcome.difference.startswith("--- /dev/null\n+++ b/references/yours.yaml\n")
    assert set(reference_file.load(path).entries) == {"OsuLatency", "OsuBandwidth"}


def test_the_mode_of_a_file_stays(path):
    path.chmod(0o640)
    assert apply(path, write=True).written
    assert path.stat().st_mode & 0o777 == 0o640 and yaml.safe_load(path.read_text())["OsuBandwidth"]


def test_a_file_that_would_not_load_is_left_as_it_is(path, monkeypatch):
    monkeypatch.setattr(edit, "edited", lambda *_: "OsuLatency: 3\n")
    with pytest.raises(ReferenceError, match="was left as it is, because the result would not load"):
        apply(path, write=True)
    assert path.read_text() == BEFORE
    assert [each.name for each in path.parent.iterdir()] == ["yours.yaml"]


def test_the_difference_is_a_patch(path, tmp_path):
    outcome = apply(path)
    assert not outcome.written and path.read_text() == BEFORE
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "yours.yaml").write_text(BEFORE)
    programs.run(["patch", "-p1"], cwd=tmp_path, input=outcome.difference, check=True)
    assert apply(path, write=True).written
    assert (tmp_path / "references" / "yours.yaml").read_text() == path.read_text() != BEFORE
