# SPDX-License-Identifier: BSD-3-Clause
"""What is asked for, in which order cases run, and what a run that continues another runs, by stand-ins of
Slurm: this host is the only node."""

import os
import re
import sys
from types import SimpleNamespace

import pytest

from fabric_checks.records import repeats, runs
from fabric_checks.report.findings import allocation_text
from fabric_checks.schedulers import in_job
from fabric_checks.schedulers.in_job import session
from tests import sessions
from tests.builders import SESSION, case, write_session

SALLOC = """#!/bin/sh
echo "$@" >> {folder}/asked
while [ "$1" != sh ]; do shift; done
export SLURM_JOB_ID=8 SLURM_JOB_NODELIST=n1
"$@"
echo back >> {folder}/asked
"""
#: Starts ranks on this host by the MPI's own launcher, which must not see that it is in Slurm.
SRUN = """#!/bin/bash
for word; do case $word in --mpi=none) is_script=yes ;; -*) ;; *) break ;; esac; shift; done
[ -z "$is_script" ] || exec "$@"
ranks=$SLURM_NTASKS
unset ${!SLURM_*}
exec mpiexec -launcher fork -n $ranks "$@"
"""
#: No barrier takes a nanosecond.
REFERENCES = """
OsuBarrier:
  $index: [layout]
  1x2: {latency: [0.001, null, 0.1, us]}
"""
OPTIONS = ["--system", "minicluster", "-n", "^OsuBarrier%layout=1x2"]


def test_the_time_is_that_of_the_cases_and_a_margin():
    assert session.limit_s([60.0, 60.0]) == 240
    assert session.limit_s([1.0]) == 60
    assert session.limit_s([100.0] * 5) == 660


@pytest.fixture
def run(tmp_path):
    """Run a session in one allocation; return it, what it printed and what was asked for."""
    for name, text in (("salloc", SALLOC), ("srun", SRUN), ("scontrol", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text.replace("{folder}", str(tmp_path)))
        (tmp_path / name).chmod(0o755)

    def call(*options, name, **more):
        program = [sys.executable, "-m", session.__name__]
        more |= {in_job.VARIABLE: in_job.ALL, "FABRIC_SESSION": name}
        done = sessions.call(
            program, tmp_path / "results", *options, "-r", suites=["osu/collective.py"],
            PATH=f"{tmp_path}:{os.environ['PATH']}", FABRIC_CLUSTER_NODES="1", **more,
        )  # fmt: skip
        asked = tmp_path / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        asked.unlink(missing_ok=True)
        return (
            runs.load_session(tmp_path / "results", name),
            done.stdout + done.stderr,
            lines,
        )

    return call


def test_a_run_holds_one_allocation_and_another_runs_what_it_did_not(run):
    first, printed, asked = run(*OPTIONS, name="20260101T000000Z-aaaa")
    assert "one allocation: 1 node for 2 min" in printed
    assert "1 case, 1 of them without a recorded duration (60 s each)" in printed
    assert [line.split()[-1] for line in asked][-1] == "back" and len(asked) == 2
    assert "--nodes=1 --time=2" in asked[0] and "--exclusive" in asked[0]
    assert [each.result for each in first.cases if not each.fixture] == ["pass"]
    (record, *_) = first.records
    assert record["jobid"] == "8/1" and record["job_state"] == "COMPLETED"
    assert re.match(
        r"one allocation, job 8: 1 node for .*, in \d+% of",
        allocation_text(first.records),
    )
    again, _, asked = run(
        *OPTIONS, name="20260101T000001Z-bbbb", **{session.CONTINUED: first.name}
    )
    assert [each.name for each in again.cases if not each.fixture] == [] and not asked


def test_a_miss_is_measured_again_before_the_allocation_is_given_back(run, tmp_path):
    references = tmp_path / "references"
    references.mkdir()
    (references / "minicluster.yaml").write_text(REFERENCES)
    of_references = {"RFM_REFERENCE_PREFIX": str(references)}
    found, printed, asked = run(
        *OPTIONS, name="20260101T000000Z-dddd", **{repeats.TIMES: "2"}, **of_references
    )
    assert "--time=6" in asked[0] and asked[1:] == ["back"]  # 60 s, and 3 more
    assert printed.count(repeats.BEGUN) == 2
    (miss,) = found.records
    confirmation = miss["confirmation"]
    assert (confirmation["missed"], confirmation["of"]) == (3, 3)
    assert len(set(confirmation["values"])) == 3 and confirmation["elsewhere"] == []
    (case,) = [each for each in found.cases if not each.fixture]
    assert (case.result, case.failed_before) == ("fail", False)
    stages = {path.name[-7:] for path in tmp_path.glob("results/stage/*/*/*/*/Osu*")}
    assert {"_retry1", "_retry2"} < stages


def test_a_run_continues_with_what_another_did_not_come_to(tmp_path, monkeypatch):
    cases = [
        case("A"),
        case("B", "skip", skip_reason="not run: too little time of job 5 was left"),
        case("C", "skip", skip_reason="not in /apps/osu"),
        case("D", "abort"),
    ]
    write_session(tmp_path, cases)
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    done = {name.split()[0] for name in session._done_in(SESSION)}
    assert done == {"A", "C"}


def test_durations_that_cannot_be_read_are_unknown(tmp_path, monkeypatch):
    folder = tmp_path / "perflogs/s/p"
    folder.mkdir(parents=True)
    (folder / "A.jsonl").symlink_to("gone")
    warned = []
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setattr(
        session, "getlogger", lambda: SimpleNamespace(warning=warned.append)
    )
    assert session.durations() == {} and "A.jsonl: No such file" in warned[0]


def test_outside_of_a_job_it_is_refused_where_that_is_not_asked_for(run):
    options = ["--system", "generic_pbs:hydra", "-n", "^OsuBarrier%layout=1x2"]
    _, printed, _ = run(*options, name="20260101T000000Z-eeee")
    why = "PBS_JOBID is not set: only Slurm is asked for an allocation; submit this command as a job"
    assert f"error: --one-job: {why}" in printed and "RUN" not in printed
    beside = {in_job.BESIDE: in_job.WITHIN}
    _, printed, _ = run(*options, name="20260101T000000Z-ffff", **beside)
    assert (
        "error: --beside: in a job of PBS two cases were on its first node" in printed
    )


def test_a_case_in_a_job_of_lsf_has_a_script_without_options_of_a_job(tmp_path):
    (tmp_path / "hosts").write_text("a\nb\n")
    program = [sys.executable, "-m", session.__name__]
    options = ["--system", "generic_lsf:hydra", "-n", "^OsuBarrier%layout=2x1"]
    of_job = {
        "LSB_JOBID": "5",
        "LSB_DJOB_HOSTFILE": str(tmp_path / "hosts"),
        in_job.VARIABLE: in_job.ALL,
    }
    more = {"suites": ["osu/collective.py"]} | of_job
    done = sessions.call(program, tmp_path / "results", *options, "--dry-run", **more)
    (script,) = tmp_path.rglob("Osu*/rfm_job.sh")
    text = script.read_text()
    assert "#BSUB" not in text, text
    assert re.search(r"(?m)^mpiexec -n 2 \S+/placement ", text), done.stdout


def test_a_system_without_allocations_is_refused(run):
    _, printed, asked = run(
        "--system", "local", "-n", "^OsuBarrier%", name="20260101T000000Z-cccc"
    )
    assert (
        not asked
        and "--one-job: local:node is run by 'fabric-local', which has no allocations"
        in printed
    )
