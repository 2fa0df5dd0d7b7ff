# SPDX-License-Identifier: BSD-3-Clause
"""Commands on PATH that print what a scheduler's tools print, and note how they are called.

Flux's and PBS's texts are of real ones, in tests/golden; those of Slurm are lines of Slurm 22.05.8.
"""

import json
import time
from pathlib import Path
from types import SimpleNamespace

from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import Job

from fabric_checks.reframe_ext.internals import take_system
from fabric_checks.schedulers import watchdog
from tests.conftest import GOLDEN
from tests.loading import SETTINGS

#: Each command gives the next of its answers, the last one for ever: its status, standard output and standard
#: error are in files, named by the command and its subcommands.
COMMAND = """#!/bin/sh
cd "${0%/*}"
key=${0##*/}
echo "$key $*" >> calls
for word; do
    case $word in node|hostname|reservation|batch|job|jobs|status|list|cancel) key=$key-$word ;; esac
done
[ "$key" = scontrol-job ] && key=scontrol
set -- "$key".*.status
[ -e "$1" ] || exit 0
answer=${1%.status}
status=$(cat "$1")
cat "$answer.out"
cat "$answer.err" >&2
[ $# = 1 ] || rm "$1"
exit "$status"
"""


class StandIn:
    """The tools of a scheduler, and jobs for it; ``made`` is the id of a job that it takes."""

    commands: tuple[str, ...]
    system = "minicluster"
    launcher = "local"
    made = "7"

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        for name in self.commands:
            (folder / name).write_text(COMMAND)
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(watchdog, "PAUSE_S", 0.0)
        take_system([str(SETTINGS)], self.system)
        self.prepare()

    def prepare(self):
        """Print what a sound cluster prints."""

    def say(self, what, *answers):
        """Let a command give these answers, one a call, and the last from then on: texts, or (status, out,
        err)."""
        for old in self.folder.glob(f"{what}.*.status"):
            old.unlink()
        for number, answer in enumerate(answers):
            status, out, err = (0, answer, "") if isinstance(answer, str) else answer
            for part, text in (("status", str(status)), ("out", out), ("err", err)):
                (self.folder / f"{what}.{number}.{part}").write_text(text)

    @property
    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def count(self, start):
        return sum(call.startswith(start) for call in self.calls)

    def job(self, **attributes):
        """Return a job that is not yet submitted."""
        self.scheduler = getscheduler(self.name)(
            **({"part_name": "pmi2"} if self.name == "fabric-slurm" else {})
        )
        job = Job.create(
            self.scheduler,
            getlauncher(self.launcher)(),
            name="a",
            workdir=str(self.folder),
            script_filename="a.sh",
        )
        job.num_tasks, job.num_tasks_per_node, job.time_limit = 4, 2, 90
        Path("a.sh").write_text("#!/bin/bash\n")
        for key, value in attributes.items():
            setattr(job, key, value)
        return job

    def submitted(self, **attributes):
        job = self.job(**attributes)
        self.scheduler.submit(job)
        return job

    def polled(self, job):
        """Return the state of a job after a poll, and whether it has ended."""
        self.scheduler.poll(job, None)
        return job.state, bool(self.scheduler.finished(job))


class Flux(StandIn):
    name, system, commands, made = "fabric-flux", "generic_flux", ("flux",), "1004"
    printed = GOLDEN / "flux/0.88.0"
    refused = ("flux-batch", (1, "", (printed / "no_queue.err").read_text()))
    refusal = "flux batch: flux-batch: ERROR: 'x' is not a valid queue"
    ids = {"waiting": "held", "cancelled": "cancelled_waiting", "lost": "node_lost"}
    silent = "flux jobs has failed for 180 s; it may still be in the queue"
    unknown = "Flux does not know it; perhaps it was restarted and lost its jobs"
    waits_for = "Flux says: it is held (urgency 0): n2 is down"
    lost = (
        "a node of it failed (node-failure: node failure on n2",
        {"n2": "n2 is down"},
    )
    cancels = "flux cancel 1004"

    def prepare(self):
        self.say("flux-batch", "fAbc\n")
        self.say("flux-job", "1004\n")
        self.say("flux-status", (self.printed / "nodes.txt").read_text())
        self.say("flux-list", (self.printed / "allocated.txt").read_text())

    def knows(self, phase, **more):
        text = (self.printed / f"{self.ids.get(phase, phase)}.json").read_text()
        self.say("flux-jobs", json.dumps(json.loads(text) | {"id": 1004} | more))

    def is_silent(self):
        self.say("flux-jobs", (1, "", "connection refused"))

    def forgets(self):
        self.knows("running", id=1005)

    def has_too_few_nodes(self):
        """It has one of four in service as it is."""


class Pbs(StandIn):
    name = "fabric-pbs"
    system = "generic_pbs"
    commands = ("qsub", "qstat", "qdel", "pbsnodes")
    made = "7.head"
    printed = GOLDEN / "pbs/23.06.06"
    refused = ("qsub", (170, "", (printed / "no_queue.err").read_text()))
    refusal = "qsub: qsub: Unknown queue"
    ids = {"waiting": "held", "cancelled": "cancelled_waiting", "lost": "node_lost"}
    silent = "qstat has failed for 180 s; it may still be in the queue"
    unknown = "PBS does not know it; does its server have job_history_enable?"
    waits_for = (
        "PBS says: it is held (Hold_Types u): n1, n2 taken by other jobs (2 of 4 nodes)"
    )
    lost = ("a node of it failed (Exit_status 0", {"n2": "n2 is down"})
    cancels = "qdel 7.head"

    def prepare(self):
        self.say("qsub", "7.head\n")
        self.say("pbsnodes", self.nodes("busy_nodes"))

    def knows(self, phase, **more):
        if phase == "lost":
            self.has_too_few_nodes()
        text = (self.printed / f"{self.ids.get(phase, phase)}.json").read_text()
        (printed,) = json.loads(text)["Jobs"].values()
        self.say("qstat", json.dumps({"Jobs": {"7.head": printed | more}}))

    def is_silent(self):
        self.say("qstat", (1, "", "Connection refused"))

    def forgets(self):
        self.say("qstat", (1, "", "qstat: Unknown Job Id 7.head"))

    def has_too_few_nodes(self):
        self.say("pbsnodes", self.nodes("nodes"))

    @classmethod
    def nodes(cls, name):
        """Return a listing that was printed as JSON in the form of `pbsnodes -a`."""
        lines = []
        for node, of in json.loads((cls.printed / f"{name}.json").read_text())[
            "nodes"
        ].items():
            resources = {
                f"resources_available.{key}": each
                for key, each in of["resources_available"].items()
            }
            shown = {
                key: ", ".join(each) if isinstance(each, list) else each
                for key, each in of.items()
            }
            lines += [
                node,
                *(f"     {key} = {each}" for key, each in (shown | resources).items()),
                "",
            ]
        return "\n".join(lines)


class Slurm(StandIn):
    name = "fabric-slurm"
    launcher = "srun"
    commands = ("scontrol", "sbatch", "scancel")
    refused = (
        "sbatch",
        (1, "", "sbatch: error: Batch job submission failed: Invalid account\n"),
    )
    refusal = "sbatch: Batch job submission failed: Invalid account"
    silence = (
        1,
        "",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
    )
    silent = "scontrol has failed for"
    unknown = "Slurm does not know it; perhaps its controller crashed"
    waits_for = "Slurm says: Resources"
    lost = ("a node of it failed (NODE_FAIL)", {"n2": "n2 is down (cable)"})
    cancels = "scancel 7"
    controller_line = (
        "JobId=7 JobState={state} Reason={reason} ExitCode={exit} Partition=compute NodeList={nodes}"
        " NumNodes=2-2 NumCPUs=2 StartTime=2026-01-02T03:04:05 EndTime=Unknown"
    )
    phases = {
        "waiting": ("PENDING", "Resources", "0:0", ""),
        "running": ("RUNNING", "None", "0:0", "n[1-2]"),
        "failed": ("FAILED", "NonZeroExitCode", "3:0", "n[1-2]"),
        "lost": ("NODE_FAIL", "None", "0:0", "n[1-2]"),
        "cancelled": ("CANCELLED", "None", "0:0", ""),
        "completed": ("COMPLETED", "None", "0:0", "n[1-2]"),
    }

    def prepare(self):
        self.has_nodes("IDLE")
        self.say("scontrol-hostname", "n1\nn2\n")
        self.say("sbatch", "Submitted batch job 7\n")

    def has_nodes(self, state):
        """Let the second of two nodes be in a state."""
        reason = "Partitions=compute  Reason=cable [me@now]"
        self.say(
            "scontrol-node",
            f"NodeName=n1 State=IDLE Partitions=compute \nNodeName=n2 State={state} {reason}\n",
        )

    def controller(
        self, state, reason="None", exit_code="0:0", nodes="n[1-2]", more=""
    ):
        line = self.controller_line.format(
            state=state, reason=reason, exit=exit_code, nodes=nodes
        )
        self.say("scontrol", f"{line}{more}")

    def knows(self, phase):
        state, reason, exit_code, nodes = self.phases[phase]
        self.controller(state, reason, exit_code, nodes)
        self.say(
            "scontrol-hostname",
            "n1\nn2\n" if nodes else (1, "", "scontrol: error: no nodelist"),
        )
        if phase == "lost":
            self.has_nodes("DOWN")

    def is_silent(self):
        self.say("scontrol", self.silence)

    def forgets(self):
        self.say(
            "scontrol", (1, "", "slurm_load_jobs error: Invalid job id specified\n")
        )

    def has_too_few_nodes(self):
        self.has_nodes("IDLE+DRAIN")


class Lsf(StandIn):
    """LSF is by its manual; ReFrame's own class watches its jobs."""

    name, system, commands = "fabric-lsf", "generic_lsf", ("bsub", "bjobs", "bkill")

    def prepare(self):
        self.say("bsub", "Job <7> is submitted to queue <normal>.\n")

    def knows(self, phase):
        states = {"waiting": "PEND", "running": "RUN", "failed": "EXIT"}
        self.say("bjobs", f"7 me {states[phase]} normal\n")


#: The schedulers whose jobs are watched by classes of this project, and all.
WATCHED = (Flux, Pbs, Slurm)
ALL = (*WATCHED, Lsf)


def standing_clock(monkeypatch, *modules):
    """Return a clock that only a test moves, for the module ``time`` of modules; ``sleep`` moves it too."""
    clock = SimpleNamespace(now=time.time())
    clock.time = clock.monotonic = lambda: clock.now

    def sleep(seconds):
        clock.now += seconds

    clock.sleep = sleep
    for module in modules:
        monkeypatch.setattr(module, "time", clock)
    return clock
