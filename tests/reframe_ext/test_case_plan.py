# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a run: exactly the cases that ReFrame would run, by all its options, and what is known of
each."""

import re
import sys
from collections import Counter

import pytest

from fabric_checks.records import cost
from tests import sessions
from tests.conftest import TESTS


def planned(folder, *options, **environment):
    file = folder / "plan.json"
    file.unlink(missing_ok=True)
    program = [sys.executable, "-m", "fabric_checks.reframe_ext.case_plan", file]
    done = sessions.call(program, folder / "results", *options, "-r", **environment)
    assert file.exists(), done.stdout + done.stderr
    return cost.read_plan(file)


def listed(folder, *options):
    """Return the cases as ReFrame itself lists them."""
    done = sessions.call([sessions.REFRAME], folder / "results", *options, "-lC")
    rows = re.findall(
        r"^ *[-^] ?(\S.*) /\w{8} @(\w+):(\w+)\+([\w-]+)$",
        done.stdout,
        flags=re.MULTILINE,
    )
    return {row for row in rows if not row[0].startswith("FabricPrograms")}


@pytest.mark.parametrize(
    "options",
    [
        ("--system", "minicluster", "--mode", "nightly"),
        ("--system", "generic_slurm", "-n", "^LammpsScaled%problem=lj", "-p", "mpich"),
    ],
    ids=" ".join,
)
def test_the_cases_are_those_of_reframe(tmp_path, options):
    """With those that a case depends on, and without what is only built for it."""
    found = planned(tmp_path, *options)
    assert found.cases and found.passes == 1
    ours = {
        (case.test, case.system, case.partition, case.environ) for case in found.cases
    }
    assert len(ours) == len(found.cases)
    assert ours == listed(tmp_path, *options)


def test_a_mode_says_how_often_cases_run_and_nothing_is_left(tmp_path):
    found = planned(
        tmp_path, "--system", "minicluster", "--mode", "procurement", "-n", "^HotSpot%"
    )
    assert found.passes == 5 and found.cases
    assert not [path for path in (tmp_path / "results").rglob("rfm_job.sh")]


def test_what_is_known_of_a_case(tmp_path):
    found = planned(
        tmp_path,
        "--system",
        "minicluster",
        "-n",
        "^(OsuBarrier|OsuLatency)",
        FABRIC_CLUSTER_NODES="8",
    )
    cases = {case.test: case for case in found.cases}
    whole = cases["OsuBarrier %layout=8x2"]
    assert whole.partition == "pmi2"
    assert whole.nodes == 8
    # Both launches are in one job, so it has room for the wider.
    both = cases["OsuLatencyPpnRatio %layout=1x2"]
    assert both.nodes == 2


def test_a_night_has_as_many_jobs_as_its_page_says(tmp_path):
    found = planned(tmp_path, "--system", "generic_slurm", "--mode", "nightly")
    nodes = Counter(case.nodes for case in found.cases if case.partition == "pmi2")
    page = (TESTS.parent / "docs" / "costs.md").read_text()
    jobs = re.search(
        r"(\d+) jobs: (\d+) on one node, (\d+) on two and (\d+) on all", page
    )
    assert [nodes.total(), *(nodes[number] for number in (1, 2, 4))] == [
        *map(int, jobs.groups())
    ]
    of_all_pairs = [case for case in found.cases if case.expected]
    assert {case.test.partition(" ")[0] for case in of_all_pairs} >= {
        "LatencyMap",
        "Rotate",
    }
    assert all(case.expected.output_B > 0 for case in of_all_pairs)
