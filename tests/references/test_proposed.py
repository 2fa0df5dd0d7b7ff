# SPDX-License-Identifier: BSD-3-Clause
"""The file of proposed references: what is proposed, and all else as it was."""

import pytest
import yaml

from fabric_checks.references import proposed, reference_file
from fabric_checks.references.propose import propose
from tests import programs
from tests.references.records import bandwidth, frame, record

FILE = """\
# Head of the file.

OsuLatency:
  $index: [$partition, $environ, layout]   # three of them
  yours:compute:
    mpich-cray:
      2x1:
        latency_0B: [1.30, null, 0.1, us]  # it's accepted
        latency_8B: [1.3, null, 0.02, "us"]
        latency_16B: [$xfail, 'it''s known', [2, null, 0.1, us]]
  "yours:gpu": {mpich: {1x2: {latency_0B: [3.0, null, 0.1, us]}}}
# What has none.
no_reference:
- {check: OsuLatency, metric: 'latency_(?!0B$).*', why: one size is judged}   # so far

# The end.
"""
FROM = "from 5 passes in 5 runs 2026-11-01 to 2026-11-05"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "yours.yaml"
    path.write_text(FILE)
    return path


def write(path, *values, **changes):
    """Propose references by five passes of each value; nothing is said of sizes that have none."""
    records = [
        *(
            record(day, value, **changes)
            for day, value in enumerate(values or [1.5] * 5)
        ),
        *(bandwidth(day) for day in range(5)),
    ]
    reference_file.load.cache_clear()
    return proposed.write(path, propose(frame(records), proposed.load_or_new(path)))


def test_a_patch_is_the_difference_of_a_file_beside_which_loads(path, tmp_path):
    difference = write(path)
    target = tmp_path / "yours.proposed.yaml"
    assert path.read_text() == FILE and set(tmp_path.iterdir()) == {path, target}
    programs.run(["patch", path], input=difference, check=True)
    assert path.read_text() == target.read_text() != FILE
    assert set(reference_file.load(target).entries) == {"OsuLatency", "OsuBandwidth"}


def test_the_other_values_and_what_stands_outside_of_changed_entries_stay(path):
    write(path)
    text = proposed.path_of(path).read_text()
    before, after = (yaml.safe_load(each) for each in (FILE, text))
    assert after.pop("OsuBandwidth")
    assert after["OsuLatency"]["yours:compute"]["mpich-cray"]["2x1"].pop(
        "latency_8B"
    ) == [
        1.5,
        None,
        0.02,
        "us",
    ]
    assert before["OsuLatency"]["yours:compute"]["mpich-cray"]["2x1"].pop("latency_8B")
    assert after == before
    assert text.startswith(
        "# Head of the file.\n\nOsuLatency:\n  $index: [$partition, $environ, layout]  # three of"
    )
    assert FILE[FILE.index("# What has none.") :] in text
    assert "latency_0B: [1.3, null, 0.1, us]  # it's accepted" in text


def test_the_comment_says_what_a_reference_is_from_and_replaces_an_earlier_one(path):
    first = write(path)
    assert (
        "+          bandwidth_8B: [900.0, -0.02, null, MB/s]  # from 5 passes in 5 runs 2026-11-01 to"
        " 2026-11-05, 2 nodes n1 n2, osu 7.5.2\n" in first
    )
    assert f"latency_8B: [1.5, null, 0.02, us]  # {FROM}" in first
    assert "LOOSENED: was [1.3, null, 0.02, us]" in first
    proposed.path_of(path).rename(path)
    again = write(path, *[1.7] * 5)
    (line,) = [line for line in again.splitlines() if line.startswith("+ ")]
    assert line.count("from 5 passes") == 1 and "[1.7, null, 0.02, us]" in line


def test_a_second_time_nothing_is_proposed(path):
    write(path)
    proposed.path_of(path).rename(path)
    assert write(path) == "" and not proposed.path_of(path).exists()


def test_a_system_without_a_file_gets_one(tmp_path):
    difference = write(tmp_path / "yours.yaml")
    assert difference.startswith("--- /dev/null\n")
    assert "+# References of the system `yours`.\n" in difference
    assert set(reference_file.load(tmp_path / "yours.proposed.yaml").entries) == {
        "OsuLatency",
        "OsuBandwidth",
    }


def test_a_comment_of_the_user_stays_in_front(path):
    path.write_text(FILE.replace('"us"]\n', '"us"]  # accepted\n'))
    assert f"[1.5, null, 0.02, us]  # accepted; {FROM}" in write(path)


def test_the_mode_of_a_file_stays(path):
    path.chmod(0o640)
    write(path)
    assert proposed.path_of(path).stat().st_mode & 0o777 == 0o640


def test_what_a_record_says_is_a_key_and_a_comment(path):
    write(
        path,
        partition="on # x",
        environ="e'\"{",
        program_version="7\nno_reference: []\x1b[2J",
    )
    text = proposed.path_of(path).read_text()
    assert yaml.safe_load(text)["OsuLatency"]["yours:on # x"]
    assert "osu 7 no_reference: []?[2J" in text
