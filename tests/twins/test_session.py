# SPDX-License-Identifier: BSD-3-Clause
"""A session on a simulated cluster: an application's values are predictions, and the report draws them."""

import json

import pytest

from lab import section6
from tests.sessions import Run
from tests.twins.simulation import ROOT, simgrid

pytestmark = simgrid


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """Return the folder of results of `--tag applications` on escher, of lj, and its records."""
    results = tmp_path_factory.mktemp("results")
    chosen = ("--system", "escher", "--tag", "applications", "-n", "problem=lj")
    of_twins = {"FABRIC_MPI": "none", "FABRIC_STACK": "simgrid"}
    done = Run(
        results, *chosen, settings=ROOT / "config/settings.py", **of_twins
    ).wait()
    assert done.status == 0, done.output
    return results, done.session


def test_the_values_are_those_of_the_replay(replayed):
    _, session = replayed
    found = {each["metric"]: each for each in session.records}
    recorded = json.loads(section6.RUN_TIMES.read_text())["lj"]["1"]["escher"]
    times = {
        name.removeprefix("loop_time_"): each["value"]
        for name, each in found.items()
        if "loop_time" in name
    }
    assert times == pytest.approx(recorded, rel=1e-6)
    assert {each["check"] for each in found.values()} == {"LammpsReplay"}
    assert {each["evidence"] for each in found.values()} == {"simulated"}
    gap = found["ppn_gap_8x2"]
    assert gap["value"] == pytest.approx(100 * (recorded["8x2"] / recorded["8x1"] - 1))
    assert gap["compared"]["values"] == pytest.approx(
        {"8x1": recorded["8x1"], "8x2": recorded["8x2"]}
    )
