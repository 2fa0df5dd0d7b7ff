# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of docs/costs.md, by what `ci/run --cost` asks the checks."""

import re
from types import SimpleNamespace

import pytest

from fabric_checks.core.layouts import Layout
from fabric_checks.parsers import rotate_patterns
from fabric_checks.records.perflog import text_of
from fabric_checks.records.writing import line_of
from tests import loading
from tests.builders import record
from tests.conftest import GOLDEN, TESTS

PAGE = (TESTS.parent / "docs" / "costs.md").read_text()


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """Return the checks of all pairs, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
        cases = loading.cases("cbc", set_up=False, suite="fabric")
        yield {
            name: next(
                case.check
                for case in cases
                if case.check.display_name.startswith(f"{name} %")
                and case.check.layout == "16x1"
                and getattr(case.check, "pattern", "round-robin") == "round-robin"
            )
            for name in ("Rotate", "LatencyMap")
        }


def partition(link_MBps=25_000.0):
    return SimpleNamespace(extras={"link_MBps": link_MBps}, fullname="big:all")


def table(head):
    """Return the rows of the table of the page whose head begins so, as lists of cells."""
    text = PAGE[PAGE.index(f"| {head}") :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()[2:]
    ]


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.parametrize("row", table("nodes |"), ids=lambda row: row[0])
def test_what_a_night_costs_by_the_number_of_nodes(checks, row):
    nodes, hours, rounds, scan_s, MB, nights, latency_rounds, latency_MB = map(
        number, row
    )
    jobs = [int(count) for count in re.findall(r"(\d+) on (?:one|two|all)", PAGE)]
    assert hours == float(f"{(jobs[0] + 2 * jobs[1] + nodes * jobs[2]) / 60:.2g}")
    layout = Layout(int(nodes), 1)
    with checks["Rotate"].launched_in(layout):
        extras = SimpleNamespace(link_MBps=25_000.0)
        assert checks["Rotate"].scan_rounds(extras) == rounds
        found = checks["Rotate"].expected(partition())
    assert scan_s == float(f"{found.least_s:.2g}")
    assert float(f"{found.output_B / 1e6:.2g}") == MB
    assert nights == rotate_patterns.runs_until_all(int(nodes), int(rounds))
    with checks["LatencyMap"].launched_in(Layout(min(int(nodes), 8192), 1)):
        assert checks["LatencyMap"].scan_rounds() == latency_rounds
        found = checks["LatencyMap"].expected(partition())
    assert latency_MB == float(f"{found.output_B / 1e6:.2g}")


@pytest.mark.parametrize(
    ("nodes", "link_MBps", "rounds"),
    [
        (1000, 25_000.0, 500),
        (1000, 125.0, 298),
        (10_000, 125.0, 298),
        (10_000, None, 838),
    ],
)
def test_a_scan_has_as_many_rounds_as_its_time_and_its_rows_allow(
    checks, nodes, link_MBps, rounds
):
    rotate, extras = checks["Rotate"], SimpleNamespace(link_MBps=link_MBps)
    with rotate.launched_in(Layout(nodes, 1)):
        assert rotate.scan_rounds(extras) == rounds
        if link_MBps:
            assert rounds * rotate.round_s(extras) <= 60 * rotate.scan_minutes
            assert rotate.expected(partition(link_MBps)).least_s <= 600


def test_an_output_is_as_long_as_is_computed(checks):
    """By the row: outputs of eight nodes, whose numbers have one digit."""
    for name, file in {
        "Rotate": "rotate/mpich-5.0.2.round-robin.txt",
        "LatencyMap": "latency_map/mpich-5.0.2.txt",
    }.items():
        # The output that is kept is from before the column of medians.
        text = re.sub(r"(\S+) scan\n", r"\1 scan \1\n", (GOLDEN / file).read_text())
        rows = re.findall(r"^\d[\d. ]*(?:scan [\d.]+)?\n", text, re.MULTILINE)
        with checks[name].launched_in(Layout(8, 1)):
            found = checks[name].expected(partition())
        rounds = 6 if name == "Rotate" else 2 * 14
        assert len(rows) >= 16
        computed_B, real_B = (
            found.output_B / (4 * rounds),
            len("".join(rows)) / len(rows),
        )
        assert real_B == pytest.approx(computed_B, rel=0.2)


@pytest.mark.parametrize("row", table("nodes x processes"), ids=lambda row: row[0])
def test_what_the_record_of_a_case_takes(row):
    layout, rails = Layout.of(row[0]), int(row[1])
    names = [f"n{number:05}" for number in range(layout.nodes)]
    port = {"sent_B": 123456789012, "received_B": 123456789012, "rate_MBps": 25000.0}
    ports = {f"mlx5_{rail}:1": port for rail in range(rails)}
    shares = dict.fromkeys(ports, 0.125) if rails > 1 else {}
    case = record(
        nodes=layout.nodes,
        ppn=layout.ppn,
        nodelist=names,
        placement=[f"{name}:{cpu}" for name in names for cpu in range(layout.ppn)],
        ports={
            "nodes": dict.fromkeys(names, ports),
            "rails": dict.fromkeys(names, shares),
        },
    )
    line_MB = len(text_of(line_of([case]))) / 1e6
    assert number(row[2]) == float(f"{line_MB:.2g}")
    # A night has 13 cases on all nodes; it was to be at most 30 MB with a thousand nodes.
    if layout.nodes <= 1000:
        assert 13 * line_MB < 30
