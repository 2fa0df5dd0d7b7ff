# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's dry run on the systems to copy: the job scripts are the golden ones."""

import json
import os
import re
import sys

import pytest

from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext import internals
from fabric_offers import recomputation_run
from tests import loading, programs
from tests.checks import job_scripts


@pytest.fixture(scope="module", params=job_scripts.SYSTEMS)
def dry(request, tmp_path_factory):
    """Return a system and its job scripts."""
    results = tmp_path_factory.mktemp("dry")
    found = job_scripts.dry_run(request.param, results)
    left = [
        path
        for folder in ("logs", "reports", "perflogs")
        for path in results.glob(f"{folder}/**/*.*")
    ]
    assert not left, "a dry run is no session"
    return request.param, found


def test_the_scripts_are_the_golden_ones(dry):
    """`python -m tests.checks.job_scripts` writes them anew."""
    system, found = dry
    golden = {path.name for path in job_scripts.SCRIPTS.glob(f"{system}.*.txt")}
    by_environment = job_scripts.by_environment(found)
    assert golden == {
        job_scripts.path_of(system, where).name for where in by_environment
    }
    for where, scripts in by_environment.items():
        assert (
            job_scripts.as_text(scripts)
            == job_scripts.path_of(system, where).read_text()
        ), where


def test_nothing_ties_a_job_to_the_host_it_was_submitted_from(dry):
    """On one host MPICH and Intel MPI fork their daemons; a job on several nodes has to reach the others."""
    _, found = dry
    for (where, case), script in found.items():
        assert not re.search(r"HYDRA_(LAUNCHER|BOOTSTRAP)", script), (where, case)


def test_a_described_system_has_the_same_scripts_elsewhere(dry, tmp_path, monkeypatch):
    """Those that `offers check` makes again of the description alone are those that ReFrame's dry run
    wrote."""
    system, found = dry
    described = tmp_path / "system.json"
    env = {
        "FABRIC_MPI": "all",
        "FABRIC_HOME": str(home()),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [
        sys.executable,
        "-m",
        "fabric_checks.reframe_ext.system_description",
        system,
        described,
    ]
    programs.run(command, env={"PATH": os.environ["PATH"], **env})
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    data = json.loads(described.read_text())
    loading.forget_checks()
    recomputation_run.take_system(data, tmp_path, tmp_path)
    made = {}
    with loading.once_a_process():
        for case in internals.load_cases(ROOT / "checks")[0]:
            if case.check.is_fixture() or case.check.display_name in job_scripts.CASES:
                internals.set_up(case)
            if case.check.display_name in job_scripts.CASES:
                again = recomputation_run.script(case, data)
                assert again["unknown"] is None
                text = "\n".join(["#!/bin/bash", *again["script"], ""]).replace(
                    str(tmp_path), "<stage>"
                )
                where = f"{case.partition.name}+{case.environ.name}"
                made[where, case.check.display_name] = job_scripts.without_this_machine(
                    text, tmp_path
                )
    assert made.keys() == found.keys()
    for key, script in found.items():
        assert made[key] == re.sub(r"<stage>/\S+_<hash>", "<stage>", script), key
