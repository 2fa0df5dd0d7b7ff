# SPDX-License-Identifier: BSD-3-Clause
"""Levels: which cases they have, and that ReFrame's modes choose them."""

import re
from types import SimpleNamespace

import pytest

from fabric_checks.core.layouts import Layout
from fabric_checks.core.levels import LEVELS, SMOKE_NODES, VET, includes, modes
from tests import sessions
from tests.checks import everything


@pytest.fixture(scope="module")
def by_level(of_module):
    """Return for each level the cases of a system that offers everything that have its tag; and all of
    them."""
    cases = everything.cases(of_module, set_up=False)
    tags = (*LEVELS, VET)
    found = {
        name: {case.check.display_name for case in cases if name in case.check.tags}
        for name in tags
    }
    return found | {"all": {case.check.display_name for case in cases}}


@pytest.mark.parametrize(
    "cases, expected",
    [
        (True, True),
        (False, False),
        ({"depth": ["8"]}, True),
        ({"problem": ["lj"], "depth": ["16"]}, False),
    ],
)
def test_cases_are_selected_by_the_values_of_parameters(cases, expected):
    assert includes(cases, SimpleNamespace(problem="lj", depth=8)) is expected


def nodes(name):
    return Layout.of(re.search(r"%layout=(\S+)", name)[1]).nodes


def test_each_level_has_all_of_the_shorter_one(by_level):
    assert (
        by_level["smoke"]
        <= by_level["nightly"]
        < by_level["acceptance"]
        == by_level["all"]
    )
    assert by_level["smoke"] and by_level["procurement"] < by_level["all"]


def test_a_vet_runs_the_round_robin_of_rotate(by_level):
    assert by_level[VET] and all(
        name.startswith("Rotate %pattern=round-robin ") for name in by_level[VET]
    )
    assert {"name": VET, "options": ["--tag=^nightly$", "--tag=^vet$"]} in modes()


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_the_mode_of_a_level_chooses_its_cases(level, tmp_path):
    """On a cluster of eight nodes; a name that begins like a level's is another tag."""
    options = ("--system", "minicluster", "--mode", level.name, "-lC")
    listed = sessions.call(
        [sessions.REFRAME], tmp_path, *options, FABRIC_CLUSTER_NODES="8"
    ).stdout
    cases = re.findall(r"^- (\S+ .*%layout=\S+)", listed, re.MULTILINE)
    assert cases
    most = max(nodes(case) for case in cases)
    assert most == (SMOKE_NODES if level.name == "smoke" else 8)
    inner = [case for case in cases if 2 < nodes(case) < 8]
    assert bool(inner) == (level.name in ("acceptance", "procurement"))


def test_the_long_levels_run_as_often_as_a_comparison_asks_for():
    from fabric_checks.comparison.verdicts import MIN_RUNS

    for name in ("acceptance", "procurement"):
        assert LEVELS[name].passes >= MIN_RUNS
    by_name = {mode["name"]: mode["options"] for mode in modes()}
    assert by_name["nightly"] == ["--tag=^nightly$"]
    assert by_name["acceptance"] == [
        "--tag=^acceptance$",
        "--reruns=4",
        "--setvar=verify_data=true",
    ]
