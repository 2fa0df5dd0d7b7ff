# SPDX-License-Identifier: BSD-3-Clause
"""Each fault of a reference file is found, with its line and a remedy."""

from dataclasses import replace

import pytest

from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.references import audit
from fabric_checks.references.cases import Case
from tests.references import records

LATENCY = tuple(Metric(f"latency_{size}B", "us", "smaller") for size in (0, 8))
BANDWIDTH = tuple(Metric(f"bandwidth_{size}B", "MB/s", "larger") for size in (8, 1024))


def case(check, metrics, layout="2x1", **attributes):
    own = {
        "$partition": "yours:compute",
        "$environ": "mpich-cray",
        "$system": "yours",
        "layout": layout,
        **attributes,
    }
    extras = Extras(link_MBps=1000.0)
    return Case(
        check, "yours:compute", "mpich-cray", layout, "yours", extras, own, metrics
    )


CASES = [
    case("OsuLatency", LATENCY),
    case("OsuLatency", LATENCY, "1x2"),
    case("OsuBandwidth", BANDWIDTH, benchmark="bw"),
]
GOOD = """\
# Head
OsuLatency:
  $index: [$partition, $environ, layout]
  yours:compute:
    mpich-cray:
      2x1:
        latency_0B: [1.3, null, 0.1, us]
        latency_8B: [$xfail, known, [1.3, null, 0.1, us]]
OsuBandwidth:
  $index: [benchmark, layout]
  bw:
    2x.*: {bandwidth_1024B: [950, -0.05, null, MB/s]}
no_reference:
- {check: OsuLatency, layout: 1x2, why: within a node}
- {metric: bandwidth_8B, why: small}
"""


@pytest.fixture
def write(tmp_path):
    def write_and_load(*change):
        text = GOOD.replace(*change) if change else GOOD
        assert not change or text != GOOD
        return records.load(tmp_path, text)

    return write_and_load


CHECKS = ("OsuLatency", "OsuBandwidth", "Rotate")


def test_a_good_file_has_no_fault(write):
    assert audit.of_file(write(), CHECKS, CASES) == []


def test_a_published_value_may_be_a_bad_one(tmp_path):
    text = GOOD.replace("[1.3, null, 0.1, us]\n  ", "[1.3, -0.1, null, us]\n  ")
    evidence = "evidence:\n- {metric: latency_0B, evidence: said, source: Paper}\n- {evidence: simulated}\n"
    assert audit.of_file(records.load(tmp_path, text + evidence), CHECKS, CASES) == []


NO_RULE = "derived:\n- {metric: bandwidth_9B, share_of_line_rate: 0.5, lower: 0}\nno_reference:"


@pytest.mark.parametrize(
    "change, line, message",
    [
        (
            ("OsuLatency:", "OsuLatensy:"),
            2,
            "orphan entry 'OsuLatensy': no check class has that name",
        ),
        (
            ("OsuBandwidth:", "Rotate:"),
            12,
            "orphan: Rotate: bw: 2x.*: no case of this check runs here",
        ),
        (
            ("yours:compute:", "yours:comput:"),
            6,
            "no such partition here (there is yours:compute); fix",
        ),
        (
            ("mpich-cray", "mpich"),
            6,
            "there is no such environ here (there is mpich-cray)",
        ),
        (
            ("      2x1:", "      4x1:"),
            6,
            "there is no such layout here (there is 2x1, 1x2)",
        ),
        (
            ("latency_8B", "latency_9B"),
            8,
            "latency_9B: the check declares no such metric there; fix",
        ),
        (
            ("null, 0.1, us]\n  ", "null, 0.1, s]\n  "),
            7,
            "latency_0B: in s, but the metric is in us",
        ),
        (
            ("[1.3, null, 0.1, us]\n  ", "[1.3, -0.1, null, us]\n  "),
            7,
            "bounds only too good values",
        ),
        (
            ("[950,", "[2500,"),
            12,
            "2375 MB/s is beyond the line rate of 2x1, 2000 MB/s",
        ),
        (
            ("[benchmark,", "[bemchmark,"),
            9,
            "$index names 'bemchmark', which the check does not have; did you mean benchmark?",
        ),
        (
            ("layout: 1x2", "layout: 1x4"),
            14,
            "'check OsuLatency layout 1x4' covers no metric; fix the",
        ),
        (
            ("layout: 1x2", "metric: latency_8B"),
            None,
            "with mpich-cray, 1x2: missing: latency_0B",
        ),
        (
            ("metric: bandwidth_8B", "metric: latency_8B"),
            None,
            "2x1 (bw): missing: bandwidth_8B: neither",
        ),
        (
            ("no_reference:", NO_RULE),
            14,
            "derived: 'metric bandwidth_9B' covers no metric",
        ),
    ],
)
def test_each_fault_is_named(write, change, line, message):
    faults = audit.of_file(write(*change), CHECKS, CASES)
    (fault,) = [fault for fault in faults if message in fault] or [faults]
    assert message in fault and "\n" not in fault
    if line:
        assert f"yours.yaml:{line}: " in fault


def test_a_rule_for_a_partition_that_does_not_say_its_link_is_named(write):
    file = write(
        "no_reference:",
        "derived: [{metric: bandwidth_1024B, share_of_line_rate: 0.9, lower: 0}]\nno_reference:",
    )
    cases = [*CASES[:2], replace(CASES[2], extras=Extras())]
    faults = audit.of_file(file, CHECKS, cases)
    assert len(faults) == 1
    assert "OsuBandwidth on yours:compute with mpich-cray, 2x1: " in faults[0]
    assert "link_MBps" in faults[0]


@pytest.mark.parametrize(
    "layout, unreachable", [("2x1", True), ("2x2", False), ("1x2", False)]
)
def test_only_between_single_processes_on_nodes_the_line_rate_is_a_ceiling(
    write, layout, unreachable
):
    file = write("2x.*: {bandwidth_1024B: [950,", "'.*': {bandwidth_1024B: [2500,")
    faults = audit.of_file(
        file,
        CHECKS,
        [*CASES[:2], case("OsuBandwidth", BANDWIDTH, layout, benchmark="bw")],
    )
    assert ["unreachable" in fault for fault in faults] == [True] * unreachable


def test_a_key_that_another_takes_is_an_orphan(write):
    file = write(
        "    2x.*: {", "    2x1: {bandwidth_8B: [1, -0.5, null, MB/s]}\n    2x.*: {"
    )
    (orphan,) = [
        fault for fault in audit.of_file(file, CHECKS, CASES) if "orphan" in fault
    ]
    assert (
        "2x.*: no case has all of these, or an earlier key matches first; delete it"
        in orphan
    )


def test_equal_gaps_of_several_cases_are_one_fault(write):
    cases = [
        replace(CASES[1], environ=environ)
        for environ in ("mpich-cray", "impi", "openmpi")
    ]
    file = write("- {check: OsuLatency, layout: 1x2, why: within a node}\n", "")
    (gaps,) = [
        fault
        for fault in audit.of_file(file, CHECKS, [*CASES, *cases[1:]])
        if "missing" in fault
    ]
    assert (
        f"{file.path}: OsuLatency on yours:compute with mpich-cray, 1x2 and 2 more cases: missing: latency_0B"
        in gaps
    )
