# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of three cases on a cluster of their own, with a fault that meets the second.

The cases run one after the other: a barrier on one node; the latency between both nodes, the victim, whose program can
be held, and plays back an output; and another program's barrier on one node. Slurm, ReFrame and the perflog are real.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from fabric_checks.records import runs
from tests.cluster.conftest import Cluster
from tests.conftest import FABRIC_CHECKS, GOLDEN, TESTS
from tests.guard import GUARD_S, wait_for

HELD = TESTS / "cluster" / "held"
BIN = Path(sys.executable).parent
#: What each case measures.
METRICS = {"OsuBarrier": 1, "OsuLatency": 24, "ImbBarrier": 1}


class Session:
    """One session of ReFrame on a cluster of two nodes, in the background."""

    def __init__(self, cluster, folder, *options, name="20260101T000000Z-test"):
        self.cluster, self.results, self.name = cluster, folder / "results", name
        self.hold, self.pid = folder / "hold", folder / f"{name}.pid"
        self.hold.mkdir(exist_ok=True)
        shutil.copy(GOLDEN / "osu-py/4.1.2/osu_latency.txt", self.hold)
        cases = ["-n", "^OsuBarrier%layout=1x2$", "-n", "^OsuLatency%layout=2x1$", "-n", "^ImbBarrier%layout=1x2$"]
        reframe = [BIN / "reframe", "--system", "minicluster", "-C", HELD / "settings.py", "-c", "checks", *cases]
        line = " ".join(f"'{part}'" for part in [*reframe, *options, "-r"])
        script = (
            f"cd {TESTS.parent}; {line} & echo $! > {self.pid}; wait $!; echo status $?;"
            f" {sys.executable} {FABRIC_CHECKS} show --session {name} --gate; echo gate $?;"
            # The perflog may be on a file system of the head's own.
            f" rm -rf {self.results}/seen; cp -r {self.results}/perflogs {self.results}/seen"
        )
        environment = {
            "FABRIC_RESULTS": str(self.results), "FABRIC_SESSION": name, "FABRIC_MPI": "mpich", "HOLD": str(self.hold),
            "COLUMNS": "2000",  # no message is broken
        }  # fmt: skip
        self.begin = time.monotonic()
        self.output = folder / f"{name}.out"
        with self.output.open("w") as output:
            assigned = [f"{key}={value}" for key, value in environment.items()]
            line = [
                *cluster.command,
                "exec",
                "--name",
                cluster.name,
                "head",
                "--",
                "env",
                *assigned,
                "bash",
                "-c",
                script,
            ]
            self.process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT)

    @property
    def said(self):
        return self.output.read_text(errors="replace")

    def wait_until_held(self):
        """Wait until both ranks of the victim have started."""
        started = [self.hold / f"osu_latency.started.{rank}" for rank in (0, 1)]
        self._wait_for(lambda: all(path.exists() for path in started), "the held job has not started")

    def wait_until_said(self, text):
        self._wait_for(lambda: text in self.said, f"ReFrame has not said {text!r}")

    def _wait_for(self, condition, what):
        """Wait as long as the session goes on."""

        def met():
            ended = self.process.poll() is not None
            assert condition() or not ended, f"{what}, and the session has ended\n{self.said}"
            return condition()

        wait_for(met, lambda: f"{what}\n{self.said}")

    def end(self):
        """Wait for the end and return what there is of the session; a session that does not end is killed."""
        try:
            self.process.wait(GUARD_S)
        finally:
            self.process.kill()
        seconds = time.monotonic() - self.begin
        said = self.said
        status, gate = (int(said.rsplit(f"{what} ", 1)[1].split()[0]) for what in ("\nstatus", "\ngate"))
        return Outcome(seconds, status, gate, said, self.results, self.name)


@dataclass
class Outcome:
    """How a session ended."""

    seconds: float
    status: int
    gate: int
    said: str
    results: Path
    name: str
    notes: dict = field(default_factory=dict)

    def __post_init__(self):
        files = sorted((self.results / "seen").rglob("*.jsonl"))
        self.lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True)]
        self.session = runs.load_session(self.results, self.name)

    @property
    def cases(self):
        """The cases' results by the name of their class."""
        return {case.name.split()[0]: case for case in self.session.cases if not case.fixture}

    @property
    def records(self):
        """All records of the perflog by class and metric; a line that is cut or is none fails."""
        found = []
        for line in self.lines:
            assert line.endswith(b"\n"), f"a line is cut: {line[-80:]!r}"
            found.append(json.loads(line))
        return found

    def recorded(self, name=None):
        """How many records with a value, and without one, each class has in this session or the named one."""
        mine = [record for record in self.records if record["session"] == (name or self.name)]
        return {
            check: (
                sum(record["check"] == check and record["metric"] is not None for record in mine),
                sum(record["check"] == check and record["metric"] is None for record in mine),
            )
            for check in METRICS
        }


def up(scheduler="slurm"):
    """Start a cluster of two nodes."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--scheduler", scheduler)
    return cluster


def begin_held(cluster, folder, *options, **more):
    """Start a session whose victim is held; return it when the victim's job runs."""
    (folder / "hold").mkdir()
    (folder / "hold" / "osu_latency").touch()
    session = Session(cluster, folder, *options, **more)
    session.wait_until_held()
    return session


def release(session):
    (session.hold / "osu_latency").unlink()


def slurmd_killed(cluster, folder):
    session = begin_held(cluster, folder)
    cluster.on("n2", "pkill", "-KILL", "-x", "slurmd")
    return session.end()


def node_drained(cluster, folder):
    cluster.on("head", "scontrol", "update", "nodename=n2", "state=drain", "reason=broken cable")
    return Session(cluster, folder).end()


def job_cancelled(cluster, folder):
    session = begin_held(cluster, folder)
    cluster.on("head", "scancel", "--state=RUNNING", "--name=fabric-checks")
    return session.end()


def over_time_limit(cluster, folder):
    # Slurm counts in minutes, and looks every half.
    return begin_held(cluster, folder, "-S", "OsuLatency.time_limit=1m").end()


def stuck_in_queue(cluster, folder):
    cluster.sh("sbatch -w n2 --exclusive --job-name=other --time=20 -o /dev/null --wrap 'sleep 1200'")
    return Session(cluster, folder, "-S", "OsuLatency.max_pending_time=15s").end()


def slurmctld_restarted(cluster, folder):
    """Once while the first job is submitted, and once in mid-job; orderly, so that it saves what it knows."""

    def stop():
        cluster.on("head", "pkill", "-TERM", "-x", "slurmctld")
        wait_for(lambda: "slurmctld IS DEAD" in cluster("status"), "slurmctld does not end")

    stop()
    (folder / "hold").mkdir()
    (folder / "hold" / "osu_latency").touch()
    session = Session(cluster, folder)
    session.wait_until_said("the job will be submitted again")
    cluster("start", "slurmctld")
    session.wait_until_held()
    stop()
    release(session)
    for node in ("n1", "n2"):  # the job ends while nobody is there to be told
        ended = ["exec", node, "--", "pgrep", "-f", "hold.sh"]
        wait_for(lambda: cluster.call(*ended).returncode == 1, f"the job goes on on {node}")  # noqa: B023
    cluster("start", "slurmctld")
    return session.end()


def sacct_unavailable(cluster, folder):
    session = begin_held(cluster, folder)
    cluster("kill", "slurmdbd")
    release(session)
    return session.end()


def perflog_full(cluster, folder):
    """Room for the first case's one record and the last one's, not for the 24 of the victim."""
    place = folder / "results" / "perflogs"
    place.mkdir(parents=True)
    mounted = cluster.call("exec", "head", "--", "mount", "-t", "tmpfs", "-o", "size=24k", "none", str(place))
    if mounted.returncode != 0:
        return f"a file system cannot be mounted on the head: {mounted.stderr.strip()}"
    return Session(cluster, folder).end()


def reframe_killed(cluster, folder):
    first = begin_held(cluster, folder)
    # The case before it is recorded when ReFrame has looked at its output, which may be after the next job begins.
    ended = re.compile(r"OK \] +\(\S+\) OsuBarrier ")
    wait_for(lambda: ended.search(first.said), lambda: f"OsuBarrier has not ended\n{first.said}")
    running = cluster.on("head", "squeue", "-h", "-o", "%i %l").split()
    cluster.on("head", "kill", "-KILL", first.pid.read_text().strip())
    killed = first.end()
    second = Session(cluster, folder, name="20260101T000100Z-test")
    second.wait_until_said("[ RUN      ] OsuBarrier")
    left = cluster.on("head", "squeue", "-h", "-j", running[0], "-o", "%T").strip()
    waiting = ["squeue", "-h", "-t", "PENDING", "-o", "%i"]
    wait_for(
        lambda: cluster.on("head", *waiting).strip(), lambda: f"no job waits for the one that was left\n{second.said}"
    )
    release(first)
    again = second.end()
    again.notes = {"killed": killed, "jobid": running[0], "limit": running[1], "left": left}
    return again


#: The faults that a session has to get over.
ASKED_FOR = (
    "slurmd killed in mid-job",
    "node drained before the job",
    "job cancelled",
    "job over its time limit",
    "job stuck in the queue",
    "slurmctld restarted",
    "sacct unavailable",
    "the perflog's disk full",
    "reframe killed and run again",
)
#: How each is made.
FAULTS = {
    "slurmd killed in mid-job": slurmd_killed,
    "node drained before the job": node_drained,
    "job cancelled": job_cancelled,
    "job over its time limit": over_time_limit,
    "job stuck in the queue": stuck_in_queue,
    "slurmctld restarted": slurmctld_restarted,
    "sacct unavailable": sacct_unavailable,
    "the perflog's disk full": perflog_full,
    "reframe killed and run again": reframe_killed,
}
#: Those that take the longest.
LONG = (over_time_limit, reframe_killed, slurmctld_restarted, node_drained)
