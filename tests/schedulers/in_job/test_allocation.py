# SPDX-License-Identifier: BSD-3-Clause
"""The one allocation: asked for with the options of its partition, held as long as the run, and given
back however that ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.schedulers import in_job, reservations
from fabric_checks.schedulers.in_job import allocation
from fabric_checks.schedulers.in_job.allocation import Request, Slurm
from tests.guard import wait_for

SALLOC = """#!/bin/sh
echo "$@" >> asked
while [ "$1" != sh ]; do shift; done
echo "salloc: Pending job allocation 8" >&2
[ ! -e refused ] || { echo "salloc: error: Invalid account" >&2; exit 1; }
[ ! -e waits ] || exec sleep 600
export SLURM_JOB_ID=8 SLURM_JOB_NODELIST='n[1-4]' SLURM_CONF='/etc/a b'
"$@"
echo $? > given_back
"""
SCONTROL = """#!/bin/sh
case "$*" in
*job*) echo "JobState=$(cat state) Reason=Resources ExitCode=0:0 Partition=p NodeList= NumNodes=4" ;;
*node*) cat nodes ;;
esac
"""
FOUR = [f"NodeName=n{number} State=IDLE Partitions=p" for number in range(1, 5)]


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Stand-ins of Slurm in the working folder: four idle nodes."""
    for name, text in (
        ("salloc", SALLOC),
        ("scontrol", SCONTROL),
        ("squeue", "#!/bin/sh\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "state").write_text("PENDING")
    (tmp_path / "nodes").write_text("\n".join(FOUR))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    return tmp_path


def followed(request, until=lambda found: found.held or found.ended):
    found = Slurm(request)

    def is_there():
        found.follow()
        return until(found)

    wait_for(is_there, "there is no allocation")
    return found


def test_it_has_the_options_of_the_partition_and_is_given_back(tools):
    found = followed(Request(4, 610, ["--partition=p", "--qos 'a b'"]))
    assert (found.job, found.nodes) == ("8", ["n1", "n2", "n3", "n4"])
    asked = Path("asked").read_text()
    for option in (
        "--partition=p",
        "--qos a b",
        "--exclusive",
        "--nodes=4",
        "--time=11",
        "--no-kill",
    ):
        assert option in asked
    found.release()
    assert Path("given_back").read_text() == "0\n"


def test_it_is_given_back_when_the_run_is_killed(tools):
    program = (
        "import os, time\n"
        "from fabric_checks.schedulers.in_job.allocation import Request, Slurm\n"
        "found = Slurm(Request(4, 600))\n"
        "while not found.held: found.follow(); time.sleep(0.01)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False)
    assert done.returncode == -9
    wait_for(Path("given_back").exists, "the allocation is still held")


def test_a_script_is_started_as_in_a_job_of_its_own(tools):
    found = followed(Request(4, 600))
    line = found.line("/s/rfm_job.sh", ["n2", "n3"], 16, tools)
    assert line[0] == "srun" and line[-1] == "/s/rfm_job.sh"
    assert {
        "--jobid=8",
        "--nodelist=n2",
        "SLURM_JOB_NODELIST=n2,n3",
        "SLURM_NTASKS=32",
    } < {*line}
    assert {"SLURM_NNODES=2", "SLURM_TASKS_PER_NODE=16(x2)", "SLURM_CONF=/etc/a b"} < {
        *line
    }
    found.release()


def test_steps_on_some_of_its_nodes_are_ended_with_all_others_left(tools):
    (tools / "squeue").write_text(
        '#!/bin/sh\necho "$@" > listed; echo 8.0 8.7 8.batch\n'
    )
    (tools / "scancel").write_text('#!/bin/sh\necho "$@" > ended\n')
    (tools / "scancel").chmod(0o755)
    found = followed(Request(4, 600))
    found.end_steps(["n2", "n3"])
    assert Path("listed").read_text().endswith(" -w n2,n3\n")
    assert Path("ended").read_text() == "--signal=KILL 8.0 8.7\n"
    found.release()


def test_a_refusal_is_its_line(tools):
    Path("refused").touch()
    found = followed(Request(4, 600))
    assert found.ended.text == "salloc: Invalid account" and not found.held
    found.release()


def test_fewer_nodes_are_asked_for_if_some_stay_out_of_service(tools, monkeypatch):
    monkeypatch.setattr(allocation, "OUT_OF_SERVICE_S", 0.0)
    monkeypatch.setattr(allocation, "ASK_S", 0.0)
    Path("waits").touch()
    Path("nodes").write_text(
        "\n".join([*FOUR[:3], "NodeName=n4 State=DOWN Partitions=p"])
    )
    found = Slurm(Request(4, 600))
    wait_for(lambda: found.follow() or found.lost, "it waits for n4")
    Path("waits").unlink()
    wait_for(lambda: found.follow() or found.held, "it is not asked for again")
    assert "--nodes=3" in Path("asked").read_text().splitlines()[-1]
    assert found.lost == {"n4": "n4 is down"}
    found.release()


def test_it_does_not_wait_for_longer_than_it_may(tools, monkeypatch):
    monkeypatch.setattr(allocation, "ASK_S", 0.0)
    Path("waits").touch()
    found = followed(Request(4, 600, (), most_wait_s=0.1))
    assert (
        "job 8 is still waiting" in found.ended.text and "Resources" in found.ended.text
    )


def test_one_that_is_taken_back_says_why(tools):
    Path("state").write_text("PREEMPTED")
    found = followed(Request(4, 600))
    found._process.stdin.close()
    wait_for(lambda: found.follow() or found.ended, "it does not notice")
    assert "job 8 ran on n1, n2, n3, n4; it was preempted" in found.ended.text
    found.release()


def test_the_allocation_that_the_run_is_in_is_taken_and_left(tools, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-3]")
    found = followed(Request(2, 600))
    found.release()
    assert (found.job, found.nodes) == ("9", ["n2", "n3"]) and not Path(
        "asked"
    ).exists()


@pytest.mark.parametrize(
    "kind, job, file",
    [
        (allocation.Pbs, "PBS_JOBID", "PBS_NODEFILE"),
        (allocation.Lsf, "LSB_JOBID", "LSB_DJOB_HOSTFILE"),
    ],
)
def test_inside_of_a_job_of_others_a_case_has_a_file_of_its_nodes(
    tmp_path, monkeypatch, kind, job, file
):
    (tmp_path / "all").write_text("a\na\nb\nb\nc\nc\n")
    monkeypatch.setenv(job, "12.server")
    monkeypatch.setenv(file, str(tmp_path / "all"))
    found = kind(Request(3, 600))
    found.follow()
    line = found.line("job.sh", found.usable[:2], 1, tmp_path)
    # MPICH and Intel MPI go by this one, not by the file: seen with MPICH 5.0.2.
    more = ["LSB_MCPU_HOSTS=a 1 b 1"] if kind is allocation.Lsf else []
    assert line == ["env", *more, f"{file}={tmp_path}/nodes-of-case", "job.sh"]
    assert (tmp_path / "nodes-of-case").read_text() == "a\nb\n"
    monkeypatch.delenv(job)
    outside = kind(Request(3, 600))
    outside.follow()
    assert f"{job} is not set" in outside.ended.text


FLUX = """#!/bin/sh
case "$*" in
"getattr hostlist") echo 'n[1-3]' ;;
"getattr jobid") echo f12 ;;
"job id f12") echo 34 ;;
"job timeleft") echo 90 ;;
resource*) echo 'avail|n[1-2]|online|'; echo 'drain|n3|offline|lost' ;;
esac
"""


def test_inside_of_flux_its_time_and_nodes_are_those_of_the_instance(tools):
    (tools / "flux").write_text(FLUX)
    (tools / "flux").chmod(0o755)
    found = allocation.Flux(Request(2, 600))
    found.follow()
    assert (found.job, found.nodes) == ("34", ["n1", "n2", "n3"])
    assert round(found.ends_s - found.began_s) == 90
    assert list(found.note_faults()) == ["n3"] and found.usable == ["n1", "n2"]


@pytest.mark.parametrize(
    "asked, declared, is_inside",
    [
        ("all", False, True),
        ("declared", True, True),
        ("declared", False, False),
        ("", True, False),
    ],
)
def test_partitions_are_in_the_allocation_as_asked_or_declared(
    monkeypatch, asked, declared, is_inside
):
    monkeypatch.setenv(in_job.VARIABLE, asked)
    extras = {"one_job": declared}
    partition = {
        "scheduler": "fabric-slurm",
        "access": ["-p x"],
        "max_jobs": 4,
        "extras": extras,
    }
    reservations.apply(partition)
    after = ("fabric-in-slurm-job", 1) if is_inside else ("fabric-slurm", 4)
    assert (partition["scheduler"], partition["max_jobs"]) == after
    assert partition["access"] == ["-p x"]
    monkeypatch.setenv(in_job.BESIDE, "within")
    beside = {"scheduler": "fabric-slurm", "extras": extras | {"nodes": 7}}
    reservations.apply(beside)
    assert beside.get("max_jobs") == (7 if is_inside else None)
    other = {"scheduler": "local", "extras": extras}
    reservations.apply(other)
    assert other["scheduler"] == "local"
