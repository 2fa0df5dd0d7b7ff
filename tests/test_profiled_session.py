# SPDX-License-Identifier: BSD-3-Clause
"""A session with the programs profiled: the records are the profile's, with the profile itself next to the
output."""

from fabric_profile import evaluation as analysis
from fabric_profile import profile as parser
from tests.test_own_programs_end_to_end import session


def test_a_check_is_profiled(tmp_path):
    status, found = session(tmp_path, "-S", "profile=true", "-n", "HotSpot")
    assert status == 0, found
    found = found.records
    values = {
        record["metric"]: record["value"]
        for record in found
        if record["check"] == "HotSpot"
    }
    assert set(values) == {metric.name for metric in analysis.METRICS}
    assert {record["no_reference"] for record in found} == {
        "a profile describes a program and is not judged"
    }
    (folder,) = {tmp_path / record["output"] for record in found}
    profile = parser.parse((folder / "profile.txt").read_text(), found[0]["tasks"])
    assert (
        analysis.values(profile)["profile_partners"] == values["profile_partners"] > 0
    )
