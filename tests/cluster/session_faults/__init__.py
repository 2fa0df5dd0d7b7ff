# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of three cases on a cluster of two nodes, with a fault during the second.

The cases run one after the other: a barrier on one node; the latency between both nodes, the victim, whose
program can be held, and plays back an output; and another program's barrier on one node. Scheduler, ReFrame
and perflog are real. tests/cluster/test_faults.py makes each fault once.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from fabric_checks.records import runs
from fabric_checks.schedulers import in_job
from tests import builders
from tests.conftest import FABRIC_CHECKS, GOLDEN, ROOT
from tests.guard import GUARD_S, wait_for

HELD = Path(__file__).with_name("held")
BIN = Path(sys.executable).parent
#: The numbers of metrics of the cases.
METRICS = {"OsuBarrier": 1, "OsuLatency": 24, "ImbBarrier": 1}


class Session:
    """One session of ReFrame on a cluster of two nodes, in the background.

    :param one_job: whether its cases are steps of one allocation; :param inside: submits a script, in which
        that is, and waits for its end; :param more: variables of its environment.
    """

    def __init__(
        self,
        cluster,
        folder,
        *options,
        name="20260101T000000Z-test",
        one_job=False,
        inside="",
        **more,
    ):
        self.cluster, self.results, self.name = cluster, folder / "results", name
        self.hold, self.pid = folder / "hold", folder / f"{name}.pid"
        self.hold.mkdir(exist_ok=True)
        shutil.copy(GOLDEN / "osu-py/4.1.2/osu_latency.txt", self.hold)
        cases = [
            "-n",
            "^OsuBarrier%layout=1x2$",
            "-n",
            "^OsuLatency%layout=2x1$",
            "-n",
            "^ImbBarrier%layout=1x2$",
        ]
        # Those that have these cases, in their order: all take as long to load as the rest of the session.
        modules = ("osu/collective.py", "osu/pt2pt.py", "imb/mpi1.py")
        checks = [word for module in modules for word in ("-c", f"checks/{module}")]
        program = [BIN / "reframe"]
        if one_job:
            program = [sys.executable, "-m", f"{in_job.__name__}.session"]
            more |= {
                in_job.VARIABLE: in_job.ALL,
                "PYTHONPATH": str(ROOT / "src"),
            }
        reframe = [
            *program,
            "--system",
            "minicluster",
            "-C",
            HELD / "settings.py",
            *checks,
            *cases,
        ]
        line = " ".join(f"'{part}'" for part in [*reframe, *options, "-r"])
        if inside:
            job = folder / f"{name}.sh"
            job.write_text(f"#!/bin/bash\ncd {ROOT}\nexec {line}\n")
            line = f"({inside.format(script=job)})"
        script = (
            f"cd {ROOT}; {line} & echo $! > {self.pid}; wait $!; echo status $?;"
            f" {sys.executable} {FABRIC_CHECKS} show --session {name} --gate; echo gate $?;"
            # The perflog may be on a file system of the head's own.
            f" rm -rf {self.results}/seen; cp -r {self.results}/perflogs {self.results}/seen"
        )
        environment = {
            "FABRIC_RESULTS": str(self.results), "FABRIC_SESSION": name, "FABRIC_MPI": "mpich",
            "HOLD": str(self.hold),
            "COLUMNS": "2000",  # no message is broken
        } | more  # fmt: skip
        self.output = folder / f"{name}.out"
        with self.output.open("w") as output:
            assigned = [f"{key}={value}" for key, value in environment.items()]
            line = cluster.line_on("head", "env", *assigned)
            line += ["bash", "-c", script]
            self.process = subprocess.Popen(
                line, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def printed(self):
        return self.output.read_text(errors="replace")

    def wait_until_held(self):
        """Wait until both ranks of the victim have started."""
        started = [self.hold / f"osu_latency.started.{rank}" for rank in (0, 1)]
        self._wait_for(
            lambda: all(path.exists() for path in started),
            "the held job has not started",
        )

    def wait_until_printed(self, text):
        self._wait_for(
            lambda: text in self.printed, f"ReFrame has not printed {text!r}"
        )

    def _wait_for(self, condition, what):
        """Wait as long as the session goes on."""

        def met():
            ended = self.process.poll() is not None
            assert condition() or not ended, (
                f"{what}, and the session has ended\n{self.printed}"
            )
            return condition()

        wait_for(met, lambda: f"{what}\n{self.printed}")

    def end(self):
        """Wait for the end and return what there is of the session; a session that does not end is killed."""
        try:
            self.process.wait(GUARD_S)
        finally:
            self.process.kill()
        printed = self.printed
        status, gate = (
            int(printed.rsplit(f"{what} ", 1)[1].split()[0])
            for what in ("\nstatus", "\ngate")
        )
        return Outcome(status, gate, printed, self.results, self.name)


@dataclass
class Outcome:
    """How a session ended."""

    status: int
    gate: int
    printed: str
    results: Path
    name: str
    notes: dict = field(default_factory=dict)

    def __post_init__(self):
        self.files = sorted((self.results / "seen").rglob("*.jsonl"))
        self.session = runs.load_session(self.results, self.name)

    @property
    def cases(self):
        """The cases' results by the name of their class."""
        return {
            case.name.split()[0]: case
            for case in self.session.cases
            if not case.fixture
        }

    @property
    def records(self):
        """All records of the perflog by class and metric; a line that is cut or is none fails."""
        return [record for file in self.files for record in builders.records_in(file)]

    def recorded(self, name=None):
        """How many records with a value, and without one, each class has in this session or the named one."""
        mine = [
            record
            for record in self.records
            if record["session"] == (name or self.name)
        ]
        return {
            check: (
                sum(
                    record["check"] == check and record["metric"] is not None
                    for record in mine
                ),
                sum(
                    record["check"] == check and record["metric"] is None
                    for record in mine
                ),
            )
            for check in METRICS
        }


@dataclass(frozen=True)
class Commands:
    """Lines of shell that somebody types on the head.

    :param drain, resume: take n2 out of service, and back; :param running, waiting: print the ids of such
        jobs.
    :param cancel, hold: with ``{id}``; :param cancel_all: cancel all jobs.
    :param free: print how many nodes take jobs; :param on_both: print the name of each node from a job on
        both.
    :param alloc: run ``{script}`` in a job of both nodes, and wait for its end.
    :param limit: the shortest time limit that is kept within a minute.
    """

    cancel: str
    drain: str
    resume: str
    running: str
    waiting: str
    hold: str
    free: str
    on_both: str
    cancel_all: str = ":"
    alloc: str = ""
    limit: str = "20s"


COMMANDS = {
    "slurm": Commands(
        cancel="scancel {id}",
        drain="scontrol update nodename=n2 state=drain reason='broken cable'",
        resume="scontrol update nodename=n2 state=resume",
        running="squeue -h -t RUNNING -n fabric-checks -o %i",
        waiting="squeue -h -t PENDING -o %i",
        hold="scontrol hold {id}",
        free="sinfo -h -N -t idle -o %N | wc -l",
        on_both="srun -N2 hostname",
        cancel_all="scancel -u $(id -un)",
        limit="1m",  # Slurm counts in minutes, and looks every half.
    ),
    "flux": Commands(
        cancel="flux cancel -m 'not today' {id}",
        drain="flux resource drain n2 broken cable",
        resume="flux resource undrain n2",
        running="flux jobs --filter=run --no-header --format='{id.dec}'",
        waiting="flux jobs --filter=sched --no-header --format='{id.dec}'",
        hold="flux job urgency {id} hold",
        free="flux resource list --states=free --no-header --format='{nnodes}'",
        on_both="flux run -N2 hostname",
        alloc="flux alloc -N2 --exclusive -t 10m bash {script}",
    ),
    "pbs": Commands(
        cancel="qdel {id}",
        drain="pbsnodes -o -C 'broken cable' n2",
        resume="pbsnodes -r -C '' n2",
        running="qselect -s R",
        waiting="qselect -s Q",
        hold="qhold {id}",
        free="pbsnodes -a -F dsv | grep -c 'state=free|'",
        # A job has no PATH of its own, and its output appears a moment after its end.
        on_both=(
            "cd /tmp; folder=$(mktemp -d); echo $(command -v pbsdsh) hostname | "
            "qsub -l select=2:ncpus=1 -l place=scatter -j oe -o $folder/out > /dev/null; "
            "until [ -s $folder/out ]; do sleep 0.1; done; cat $folder/out; rm -r $folder"
        ),
        alloc=(
            "qsub -V -W block=true -l select=2:ncpus=2 -l place=scatter:exclhost -l walltime=0:10:0 -j oe"
            " -o {script}.out {script}; status=$?; cat {script}.out; (exit $status)"
        ),
    ),
}


def begin_held(cluster, folder, *options, **more):
    """Start a session whose victim is held; return it when the victim's job runs."""
    (folder / "hold").mkdir()
    (folder / "hold/osu_latency").touch()
    session = Session(cluster, folder, *options, **more)
    session.wait_until_held()
    return session


def release(session):
    (session.hold / "osu_latency").unlink()


def job(cluster, command):
    """Return the id of the job that a command prints, as soon as it prints one."""
    return wait_for(
        lambda: cluster.sh(command).split(), f"no job is printed by {command}"
    )[-1]


def heal(cluster, commands):
    """Start what is dead, put nodes back in service, and wait until both take jobs."""
    status = cluster("status")
    for service in ("slurmctld", "slurmdbd"):
        if f"{service} IS DEAD" in status:
            cluster("start", service)
    for node in ("n1", "n2"):
        if re.search(f"{node}: (.* )?IS DEAD", status):
            cluster("kill", node)  # with what its daemon had started
        if re.search(f"{node}: (.* )?IS D", status):
            cluster("start", node)
    for line in (commands.cancel_all, commands.resume):  # it may be in service
        cluster.tried("head", "bash", "-c", line)

    def free():
        return cluster.tried("head", "bash", "-c", commands.free).stdout.strip() == "2"

    wait_for(free, lambda: cluster("status"))


def no_fault(cluster, commands, folder):
    return Session(cluster, folder).end()


def node_lost(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster("kill", "n2")
    return session.end()


def slurmd_killed(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster.on("n2", "pkill", "-KILL", "-x", "slurmd")
    return session.end()


def job_cancelled(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster.sh(commands.cancel.format(id=job(cluster, commands.running)))
    return session.end()


def over_time_limit(cluster, commands, folder):
    return begin_held(
        cluster, folder, "-S", f"OsuLatency.time_limit={commands.limit}"
    ).end()


def node_drained(cluster, commands, folder):
    cluster.sh(commands.drain)
    return Session(cluster, folder).end()


def job_held(cluster, commands, folder):
    """Somebody holds the job while it waits for n2, which is then back in service."""
    cluster.sh(commands.drain)
    session = Session(cluster, folder, "-S", "OsuLatency.max_pending_time=25s")
    # One job is in the queue at a time; that of OsuBarrier, which n1 is enough for, is over then.
    session.wait_until_printed("] (2/4) OsuBarrier")
    cluster.sh(commands.hold.format(id=job(cluster, commands.waiting)))
    cluster.sh(commands.resume)
    return session.end()


def stuck_in_queue(cluster, commands, folder):
    cluster.sh(
        "sbatch -w n2 --exclusive --job-name=other --time=20 -o /dev/null --wrap 'sleep 1200'"
    )
    return Session(cluster, folder, "-S", "OsuLatency.max_pending_time=15s").end()


def slurmctld_restarted(cluster, commands, folder):
    """In mid-job, and orderly, so that it saves what it knows."""
    session = begin_held(cluster, folder)
    cluster.on("head", "pkill", "-TERM", "-x", "slurmctld")
    wait_for(lambda: "slurmctld IS DEAD" in cluster("status"), "slurmctld does not end")
    release(session)
    for node in ("n1", "n2"):  # the job ends while the controller is down
        # Not srun, which from Slurm 26.05 on waits for the controller.
        tasks = "^[^ ]*(/ports|sh) .*hold.sh"
        ended = ["exec", node, "--", "pgrep", "-f", tasks]
        wait_for(
            lambda ended=ended: cluster.call(*ended).returncode == 1,
            f"the job goes on on {node}",
        )
    cluster("start", "slurmctld")
    return session.end()


def sacct_unavailable(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster("kill", "slurmdbd")
    release(session)
    return session.end()


def perflog_full(cluster, commands, folder, **more):
    """No room for the 24 records of the victim; those of the other two are on another file system."""
    perflogs = folder / "results/perflogs"
    perflogs.mkdir(parents=True)
    mounted = cluster.tried(
        "head",
        "mount",
        "-t",
        "tmpfs",
        "-o",
        "size=4k",
        "none",
        str(perflogs),
    )
    if mounted.returncode != 0:
        return f"a file system cannot be mounted on the head: {mounted.stderr.strip()}"
    of_checks = perflogs / "minicluster/pmi2"
    links = [
        f"ln -s ../../../{check}.jsonl {of_checks}"
        for check in ("OsuBarrier", "ImbBarrier")
    ]
    filled = f"head -c 4096 /dev/zero > {perflogs}/filler"
    cluster.sh("; ".join([f"mkdir -p {of_checks}", *links, filled]))
    return Session(cluster, folder, **more).end()


def reframe_killed(cluster, commands, folder):
    first = begin_held(cluster, folder)
    # The case before it is recorded when ReFrame has looked at its output, which may be after the next job
    # begins.
    ended = re.compile(r"OK \] +\(\S+\) OsuBarrier ")
    wait_for(
        lambda: ended.search(first.printed),
        lambda: f"OsuBarrier has not ended\n{first.printed}",
    )
    running = cluster.on("head", "squeue", "-h", "-o", "%i %l").split()
    cluster.on("head", "kill", "-KILL", first.pid.read_text().strip())
    killed = first.end()
    second = Session(cluster, folder, name="20260101T000100Z-test")
    second.wait_until_printed("[ RUN      ] OsuBarrier")
    left = cluster.on("head", "squeue", "-h", "-j", running[0], "-o", "%T").strip()
    waiting = ["squeue", "-h", "-t", "PENDING", "-o", "%i"]
    wait_for(
        lambda: cluster.on("head", *waiting).strip(),
        lambda: f"no job waits for the first\n{second.printed}",
    )
    release(first)
    again = second.end()
    again.notes = {
        "killed": killed,
        "jobid": running[0],
        "limit": running[1],
        "left": left,
    }
    return again


#: How each fault is made, and what the victim then reports; None where it passes.
NODE_LOST = (
    r"job \S+ ran on n1, n2; a node of it failed \(.*\): n2 (does not respond|is down)"
)
CANCELLED = (
    job_cancelled,
    r"job \S+ ran on n1, n2; it was cancelled, but not by this session \(.*\)",
)
OVER_LIMIT = (
    over_time_limit,
    r"job \S+ ran on n1, n2; it ran over its time limit \(.*\)",
)
DRAINED = (
    node_drained,
    (
        r"job \S+ cannot start after \d+ s in the queue and was cancelled; .*: n2 is (drained|offline)"
        r" \(broken cable\)"
    ),
)
WAITING = (
    r"job \S+ is still waiting after \d+ s in the queue and was cancelled; .* says: "
)
EVERYWHERE = {
    "job cancelled": CANCELLED,
    "job over its time limit": OVER_LIMIT,
    "node drained before the job": DRAINED,
}
POLLED = EVERYWHERE | {
    "none": (no_fault, None),
    "node lost in mid-job": (node_lost, NODE_LOST),
    "job held": (job_held, rf"{WAITING}it is held \("),
}
FAULTS = {
    "slurm": (
        EVERYWHERE
        | {
            "slurmd killed in mid-job": (slurmd_killed, NODE_LOST),
            "job stuck in the queue": (
                stuck_in_queue,
                rf"{WAITING}.*: .*\bn2 taken by other jobs",
            ),
            "slurmctld restarted": (slurmctld_restarted, None),
            "sacct unavailable": (sacct_unavailable, None),
            "the perflog's disk full": (
                perflog_full,
                r"/results/perflogs/minicluster/pmi2/OsuLatency[.]jsonl: No space left on device: 24 records"
                r" are not in "
                r"the perflog of OsuLatency %layout=2x1; make room",
            ),
            "reframe killed and run again": (reframe_killed, None),
        }
    ),
    "flux": POLLED,
    "pbs": POLLED,
}
