# SPDX-License-Identifier: BSD-3-Clause
"""Cases of real checks that are held to a share of the line rate."""

from pathlib import Path

import pytest

from fabric_checks.records.perflog import records_of
from tests import loading

REFERENCES = """
OsuBandwidth:
  $index: [benchmark, layout]
  bw:
    2x1: {bandwidth_1048576B: [1500, -0.1, null, MB/s]}
derived:
- {check: OsuBandwidth, metric: 'bandwidth_(1048576|4194304)B', share_of_line_rate: 0.9, lower: -0.05}
no_reference: [{why: not of interest}]
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory, of_module):
    folder = tmp_path_factory.mktemp("references")
    (folder / "linked.yaml").write_text(REFERENCES)
    of_module.setenv("LINKED_REFERENCES", str(folder / "linked"))
    of_module.setattr(loading, "SETTINGS", Path(__file__).with_name("linked.py"))
    found = [
        case.check
        for case in loading.cases("linked", suite="osu/pt2pt.py")
        if type(case.check).__name__ == "OsuBandwidth"
    ]
    return {(check.benchmark, check.layout): check for check in found}


SOURCE = "derived: 0.9 x 2 NICs x 1000 MB/s"


def test_between_nodes_the_rule_counts_where_there_is_no_entry(cases):
    check = cases["bw", "2x1"]
    assert check._reference_error == ""
    assert tuple(check.reference["linked:compute:bandwidth_4194304B"]) == (
        1800.0,
        -0.05,
        None,
        "MB/s",
    )
    assert tuple(check.reference["linked:compute:bandwidth_1048576B"]) == (
        1500,
        -0.1,
        None,
        "MB/s",
    )
    values = check.facts.metrics
    assert {name for name, value in values.items() if value.reference_source} == {
        "bandwidth_4194304B"
    }
    assert values["bandwidth_4194304B"].reference_source == SOURCE
    assert values["bandwidth_4194304B"].no_reference is None
    assert values["bandwidth_8B"].no_reference == "not of interest"


def test_the_record_says_that_it_is_derived(cases):
    check = cases["bw", "2x1"]
    values = {"x:bandwidth_4194304B": (1700.0, 1800.0, -0.05, None, "MB/s", "fail")}
    names = (
        "check_system",
        "check_partition",
        "check_environ",
        "check_display_name",
        "check_result",
        "check_jobid",
    )
    attributes = dict.fromkeys(
        (*names, "version", "check_fail_reason", "check_job_nodelist")
    )
    (record,) = records_of(
        attributes | {"check_facts": check.facts_as_data, "check_perfvalues": values}
    )
    assert record["reference"] == 1800.0
    assert record["reference_source"] == SOURCE
    assert record["evidence"] is None
