# SPDX-License-Identifier: BSD-3-Clause
"""Each part of the door to ReFrame's inside: fails where ReFrame has changed what it stands on."""

import contextlib
import inspect
import logging
import os
import sys
from types import SimpleNamespace

import pytest
import reframe
import reframe as rfm
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ConfigError, JobError
from reframe.core.logging import LoggerAdapter
from reframe.core.runtime import runtime
from reframe.core.schedulers import Job
from reframe.frontend.executors import policies

from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import internals
from fabric_checks.schedulers.slurm import scheduler as slurm  # noqa: F401  (it registers)
from tests import programs
from tests.loading import SETTINGS
from tests.schedulers.stand_ins import Slurm


@pytest.fixture(autouse=True)
def on_a_system():
    internals.take_system([str(SETTINGS)], "minicluster")


def test_an_alias_that_nobody_uses_costs_no_walk_over_the_stack(monkeypatch):
    """Where this fails for the first class, ReFrame is fast by itself, and the decorator can go."""

    def walks(cls):
        seen = []
        monkeypatch.setattr(inspect, "stack", lambda: seen.append(cls) or [])
        cls()
        return bool(seen)

    class With(rfm.RunOnlyRegressionTest):
        pass

    @internals.without_deprecated_alias
    class Without(rfm.RunOnlyRegressionTest):
        pass

    class Derived(Without):
        pass

    assert (walks(With), walks(Without), walks(Derived)) == (True, False, False)


def test_references_that_are_taken_are_as_those_that_are_assigned():
    """But for the time that ReFrame takes to check each value."""
    by_partition = {"a:b": {"x": (1.0, -0.1, None, "us"), "y": (0, None, None, "%")}}

    class Check(rfm.RunOnlyRegressionTest):
        pass

    assigned, taken = Check(), Check()
    assigned.reference = by_partition
    internals.take_references(taken, by_partition)
    assert type(taken.reference) is type(assigned.reference)
    assert taken.reference == assigned.reference and taken.reference["a:b:x"][3] == "us"


def test_the_check_of_a_log_record():
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(internals.check_of(record))

    class Check(rfm.RunOnlyRegressionTest):
        pass

    check = Check()
    logger = logging.Logger("of this test")
    logger.addHandler(Handler())
    LoggerAdapter(logger, check).warning("of a check")
    LoggerAdapter(logger).warning("of ReFrame")
    logger.warning("of another program")
    assert seen == [check, None, None]


def test_what_is_noted_of_a_job_can_be_read_from_it():
    job = Job.create(getscheduler("local")(), getlauncher("local")(), name="a")
    facts = {
        "jobid": "7",
        "state": "RUNNING",
        "exitcode": 3,
        "submit_time": 1.0,
        "completion_time": 2.0,
    }
    facts["exception"] = JobError("x", "7")
    internals.note(job, **facts)
    assert {name: getattr(job, name) for name in facts} == facts


def test_the_nodes_and_the_reasons_of_slurm(tmp_path, monkeypatch):
    fake = Slurm(tmp_path, monkeypatch)
    job = fake.submitted()
    internals.note(job, nodespec="n3,n4", state="COMPLETED")
    assert job.nodelist == ["n1", "n2"]  # what the stand-in answers
    assert fake.calls[-1] == "scontrol show hostname n3,n4"
    assert internals.reasons_to_cancel(fake.scheduler) == ["ReqNodeNotAvail"]


@pytest.mark.parametrize("version", ["4.10.3", "4.10.10"])
def test_a_reframe_that_was_tried(monkeypatch, version):
    monkeypatch.setattr(reframe, "VERSION", version)
    internals.require_reframe()


@pytest.mark.parametrize(
    "version, why",
    [
        (
            "4.10.2",
            r"4\.10\.3 or later is needed: `\. \S+/ci/env\.sh` provides a newer one",
        ),
        (
            "4.11.0-dev1",
            r"tried on 4\.10\.3 to the last before 4\.11: .*, or try it with FABRIC_ANY_REFRAME=1$",
        ),
        ("5.0.0", "the last before"),
    ],
)
def test_a_reframe_that_was_not_tried(monkeypatch, version, why):
    monkeypatch.setattr(reframe, "VERSION", version)
    with pytest.raises(ConfigError, match=rf"^this is ReFrame {version}, and .*{why}"):
        internals.require_reframe()
    monkeypatch.setenv("FABRIC_ANY_REFRAME", "1")
    if version != "4.10.2":
        internals.require_reframe()


def test_the_configuration_files_of_the_variable_are_used(monkeypatch):
    monkeypatch.setenv("RFM_CONFIG_FILES", str(SETTINGS))
    internals.take_own_system("generic_pbs")
    assert runtime().system.name == "generic_pbs"


CHECKS = """
import reframe as rfm
from reframe.core.builtins import sanity_function

class Any(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @sanity_function
    def fine(self):
        return True

@rfm.simple_test
class A(Any):
    def __init__(self):
        self.depends_on("B")

@rfm.simple_test
class B(Any):
    pass
"""


def test_cases_come_after_what_they_depend_on_and_are_set_up(tmp_path):
    (tmp_path / "checks.py").write_text(CHECKS)
    cases, skipped = internals.load_cases(tmp_path)
    names = [case.check.name for case in cases]
    assert set(names) == {"A", "B"}
    assert names == sorted(names, reverse=True)
    assert not skipped
    internals.set_up(cases[0])
    assert cases[0].check.current_partition.fullname == "minicluster:pmi2"
    assert cases[0].check.job.scheduler.registered_name == "fabric-slurm"
    assert cases[0].check.stagedir != cases[0].check.outputdir


def test_cases_that_are_only_looked_at_share_a_folder(tmp_path):
    (tmp_path / "checks.py").write_text(CHECKS)
    shared = tmp_path / "shared"
    shared.mkdir()
    internals.take_system([str(SETTINGS)], "minicluster", shared)
    cases, _ = internals.load_cases(tmp_path)
    for case in cases:
        internals.set_up(case)
        assert case.check.stagedir == str(shared)
        assert case.check.outputdir == str(shared)
    assert not list(shared.iterdir())


@pytest.mark.parametrize("follow", [False, True])
def test_a_folder_is_kept_where_the_results_are_behind_a_link(tmp_path, follow):
    """Where the first one fails, ReFrame copies such folders rightly, and the function can go."""
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "large/disk").mkdir(parents=True)
    (tmp_path / "results").symlink_to("large/disk")
    cases, _ = internals.load_cases(tmp_path)
    check = cases[0].check
    internals.set_up(cases[0])
    check._stagedir, check._outputdir = (
        str(tmp_path / "results" / name) for name in ("stage", "output")
    )
    (tmp_path / "results/stage/ports/n1").mkdir(parents=True)
    (tmp_path / "results/output").mkdir()
    check.keep_files = ["ports*"]
    check._copy_job_files = lambda *_: None
    if follow:
        internals.follow_links_to_stage(check)
    with contextlib.suppress(OSError):
        check.cleanup()
    assert (tmp_path / "large/disk/output/ports/n1").is_dir() == follow


SELECT = """
from fabric_checks.reframe_ext.internals import select_only
select_only(lambda cases, passes: print("handed over:", passes, *sorted(case.check.name for case in cases)))
"""


def select(folder, *options):
    (folder / "checks.py").write_text(CHECKS)
    env = os.environ | {"FABRIC_MPI": "mpich"}
    command = [
        sys.executable,
        "-c",
        SELECT,
        "-C",
        ROOT / "config/settings.py",
        "-c",
        folder / "checks.py",
    ]
    command += ["--system", "minicluster", "-p", "mpich", "-r", *options]
    return programs.run(command, env=env, cwd=folder).stdout


@pytest.mark.parametrize(
    "option, line",
    [("--reruns=2", "handed over: 3 A B"), ("-n=B", "handed over: 1 B")],
)
def test_cases_are_handed_over_instead_of_run(tmp_path, option, line):
    printed = select(tmp_path, option)
    assert line in printed.splitlines(), printed
    assert "RUN" not in printed


def test_a_run_without_end_is_refused(tmp_path):
    printed = select(tmp_path, "--duration=1h")
    assert "--duration itself sets how long the run takes" in printed
    assert "handed over" not in printed


def test_cases_are_looked_after_as_often_late_as_early(monkeypatch):
    """Where the first fails, ReFrame does so by itself, and the function can go."""
    slept, clock = [], [0.0]

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    def longest_pause():
        slept.clear()
        for _ in range(30):
            policy._pollctl.snooze()
        return max(slept)

    policy = policies.AsynchronousExecutionPolicy()
    monkeypatch.setattr(policies.time, "sleep", sleep)
    monkeypatch.setattr(policies.time, "time", lambda: clock[0])
    assert longest_pause() > 5
    monkeypatch.setattr(internals, "_RUNNERS", [SimpleNamespace(policy=policy)])
    internals.poll_steadily()
    policy._pollctl.reset_poll_rate()
    assert longest_pause() < 0.2
