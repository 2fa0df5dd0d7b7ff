# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's dry run on the systems to copy: the job scripts are the golden ones, and request the layout."""

import json
import os
import re
import sys
from dataclasses import dataclass

import pytest

from fabric_checks.core.layouts import Layout
from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext import internals
from fabric_offers import recomputation_run
from tests import loading, programs
from tests.checks import job_scripts


@dataclass
class Request:
    """Hold the request of a job script to its scheduler; None where it has none."""

    nodes: int | None = None
    tasks: int | None = None
    ppn: int | None = None
    minutes: float | None = None
    exclusive: bool = False


def options(script, sentinel):
    """Return the option lines of a script, which come before all else."""
    head = script.split("\n")[1:]
    lines = [line.removeprefix(sentinel).strip() for line in head if line.startswith(sentinel)]
    assert lines and all(line.startswith(sentinel) for line in head[: len(lines)]), (
        "options after the first command"
    )
    return lines


def no_option_twice(lines, joins):
    """Assert that every option is there once; after one of ``joins`` its argument's name counts too."""
    names = [re.match(r"(-\S+?)(?:[ =]|$)(\w*)", line).groups() for line in lines]
    keys = [f"{name} {argument}" if name in joins else name for name, argument in names]
    assert len(keys) == len(set(keys)), f"an option stands there twice: {keys}"


def number(pattern, lines):
    """Return the number that the one line of a pattern has, or None."""
    found = [int(match[1]) for line in lines if (match := re.fullmatch(pattern, line))]
    assert len(found) <= 1, (pattern, lines)
    return found[0] if found else None


def hours_minutes_seconds(lines, pattern):
    """Return minutes."""
    (match,) = (match for line in lines if (match := re.fullmatch(pattern + r"(\d+):(\d+):(\d+)", line)))
    return int(match[1]) * 60 + int(match[2]) + int(match[3]) / 60


def of_slurm(script):
    """Read ``#SBATCH`` (sbatch(1))."""
    lines = options(script, "#SBATCH")
    no_option_twice(lines, ())
    return Request(
        number(r"--nodes=(\d+)", lines),
        number(r"--ntasks=(\d+)", lines),
        number(r"--ntasks-per-node=(\d+)", lines),
        hours_minutes_seconds(lines, "--time="),
        "--exclusive" in lines,
    )


def of_flux(script):
    """Read ``#flux:`` (flux-batch(1)): slots are spread evenly over the nodes."""
    lines = options(script, "#flux:")
    no_option_twice(lines, ())
    nodes, slots = number(r"--nodes=(\d+)", lines), number(r"--nslots=(\d+)", lines)
    assert slots % nodes == 0
    return Request(
        nodes, slots, slots // nodes, number(r"--time-limit=(\d+)s", lines) / 60, "--exclusive" in lines
    )


def of_pbs(script):
    """Read ``#PBS`` (qsub(1B), pbs_resources(7B)): a chunk for each node, each on a host of its own."""
    lines = options(script, "#PBS")
    no_option_twice(lines, ("-l",))
    (chunks,) = (
        match
        for line in lines
        if (match := re.fullmatch(r"-l select=(\d+):mpiprocs=(\d+):ncpus=(\d+)", line))
    )
    nodes, ppn, cpus = map(int, chunks.groups())
    assert cpus >= ppn
    assert "-l place=scatter:exclhost" in lines
    # PBS starts a job in the home folder.
    assert re.search(r"^cd <stage>/", script, re.MULTILINE)
    (name,) = (line.removeprefix("-N ") for line in lines if line.startswith("-N "))
    assert len(name.replace("<hash>", "")) <= 15 and name[0].isalpha()
    return Request(nodes, nodes * ppn, ppn, hours_minutes_seconds(lines, "-l walltime="), exclusive=True)


def of_lsf(script):
    """Read ``#BSUB`` (bsub): slots and slots a host, or nodes where there is CSM, which gives whole ones."""
    lines = options(script, "#BSUB")
    no_option_twice(lines, ())
    minutes = number(r"-W (\d+)", lines)
    with_csm = number(r"-nnodes (\d+)", lines)
    if with_csm:
        # Easy mode, which does not go with a request for slots.
        assert not any(re.match(r"-(n|R|x)\b", line) for line in lines)
        return Request(with_csm, None, None, minutes, exclusive=True)
    tasks, ppn = number(r"-n (\d+)", lines), number(r'-R "span\[ptile=(\d+)\]"', lines)
    assert tasks % ppn == 0
    return Request(tasks // ppn, tasks, ppn, minutes, "-x" in lines)


READERS = {"generic_slurm": of_slurm, "generic_flux": of_flux, "generic_pbs": of_pbs, "generic_lsf": of_lsf}


@pytest.fixture(scope="module", params=job_scripts.SYSTEMS)
def dry(request, tmp_path_factory):
    """Return a system and its job scripts."""
    results = tmp_path_factory.mktemp("dry")
    found = job_scripts.dry_run(request.param, results)
    left = [path for folder in ("logs", "reports", "perflogs") for path in results.glob(f"{folder}/**/*.*")]
    assert not left, "a dry run is no session"
    return request.param, found


def test_the_scripts_are_the_golden_ones(dry):
    """`python -m tests.checks.job_scripts` writes them anew."""
    system, found = dry
    golden = {path.name for path in job_scripts.SCRIPTS.glob(f"{system}.*.txt")}
    by_environment = job_scripts.by_environment(found)
    assert golden == {job_scripts.path_of(system, where).name for where in by_environment}
    for where, scripts in by_environment.items():
        assert job_scripts.as_text(scripts) == job_scripts.path_of(system, where).read_text(), where


def test_the_scripts_ask_for_the_layout(dry):
    """Nodes, tasks, tasks a node, time, whole nodes; and nothing twice."""
    system, found = dry
    for (where, case), script in found.items():
        layout = Layout.of(case.split("%layout=")[1])
        asked = READERS[system](script)
        with_csm = where.startswith("jsm")
        assert asked.nodes == layout.nodes, (where, case)
        assert asked.tasks == (None if with_csm else layout.tasks), (where, case)
        assert asked.ppn == (None if with_csm else layout.ppn), (where, case)
        launches = 2 if "PpnRatio" in case else 1
        assert asked.minutes == launches * (20 if case.startswith("Rotate") else 10), (where, case)
        assert asked.exclusive, (where, case)


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
    env = {"FABRIC_MPI": "all", "FABRIC_HOME": str(home()), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "fabric_checks.reframe_ext.system_description", system, described]
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
                text = "\n".join(["#!/bin/bash", *again["script"], ""]).replace(str(tmp_path), "<stage>")
                where = f"{case.partition.name}+{case.environ.name}"
                made[where, case.check.display_name] = job_scripts.without_this_machine(text, tmp_path)
    assert made.keys() == found.keys()
    for key, script in found.items():
        assert made[key] == re.sub(r"<stage>/\S+_<hash>", "<stage>", script), key
