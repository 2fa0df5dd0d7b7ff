# SPDX-License-Identifier: BSD-3-Clause
"""Sessions as those of :mod:`tests.cluster.faults` on clusters with Flux and OpenPBS; a fault meets the second case.

What is made by the scheduler's own commands stands here, once for each.
"""

from dataclasses import dataclass

from tests.cluster.faults import Session, begin_held
from tests.guard import wait_for


@dataclass(frozen=True)
class Commands:
    """What somebody types on the head; each is a line of shell.

    :param drain, resume: take n2 out of service, and back; :param running, waiting: print the ids of such jobs.
    :param free: print how many nodes take jobs; :param on_both: print the name of each node from a job on both.
    """

    cancel: str
    drain: str
    resume: str
    running: str
    waiting: str
    hold: str
    free: str
    on_both: str


COMMANDS = {
    "flux": Commands(
        cancel="flux cancel -m 'not today' {id}",
        drain="flux resource drain n2 broken cable",
        resume="flux resource undrain n2",
        running="flux jobs --filter=run --no-header --format='{id.dec}'",
        waiting="flux jobs --filter=sched --no-header --format='{id.dec}'",
        hold="flux job urgency {id} hold",
        free="flux resource list --states=free --no-header --format='{nnodes}'",
        on_both="flux run -N2 hostname",
    ),
    "pbs": Commands(
        cancel="qdel {id}",
        drain="pbsnodes -o -C 'broken cable' n2",
        resume="pbsnodes -r -C '' n2",
        running="qselect -s R",
        waiting="qselect -s Q",
        hold="qhold {id}",
        free="pbsnodes -a -F dsv | grep -c 'state=free|'",
        # A job has no PATH of its own, and its output is there a moment after its end.
        on_both="cd /tmp; folder=$(mktemp -d); echo $(command -v pbsdsh) hostname | "
        "qsub -l select=2:ncpus=1 -l place=scatter -j oe -o $folder/out > /dev/null; "
        "until [ -s $folder/out ]; do sleep 0.1; done; cat $folder/out; rm -r $folder",
    ),
}


def job(cluster, commands, which):
    """Return the id of the only job that runs, or waits, as soon as there is one."""
    found = []

    def there():
        found[:] = cluster.sh(getattr(commands, which)).split()
        return found

    wait_for(there, f"no job is {which}")
    return found[-1]


def heal(cluster, commands):
    """Boot n2 if it is down, put it back in service, and wait until both nodes take jobs."""
    if "n2: IS DOWN" in cluster("status"):
        cluster("start", "n2")
    cluster.call("exec", "head", "--", "bash", "-c", commands.resume)  # it may be in service

    def free():
        return cluster.call("exec", "head", "--", "bash", "-c", commands.free).stdout.strip() == "2"

    wait_for(free, lambda: cluster("status"))


def no_fault(cluster, commands, folder):
    return Session(cluster, folder).end()


def node_lost(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster("kill", "n2")
    return session.end()


def job_cancelled(cluster, commands, folder):
    session = begin_held(cluster, folder)
    cluster.sh(commands.cancel.format(id=job(cluster, commands, "running")))
    return session.end()


def over_time_limit(cluster, commands, folder):
    return begin_held(cluster, folder, "-S", "OsuLatency.time_limit=20s").end()


def cannot_start(cluster, commands, folder):
    cluster.sh(commands.drain)
    return Session(cluster, folder).end()


def held(cluster, commands, folder):
    """Somebody holds the job while it waits for n2, which is back in service then."""
    cluster.sh(commands.drain)
    session = Session(cluster, folder, "-S", "OsuLatency.max_pending_time=25s")
    # One job is in the queue at a time; that of OsuBarrier, which n1 is enough for, is over then.
    session.wait_until_said("] (2/4) OsuBarrier")
    cluster.sh(commands.hold.format(id=job(cluster, commands, "waiting")))
    cluster.sh(commands.resume)
    return session.end()


#: How each is made, and what the case says then; None where it passes.
FAULTS = {
    "none": (no_fault, None),
    "node lost in mid-job": (node_lost, r"job \S+ ran on n1, n2; a node of it failed \(.*\): n2 is down"),
    "job cancelled": (job_cancelled, r"job \S+ ran on n1, n2; it was cancelled, but not by this session \(.*\)"),
    "job over its time limit": (over_time_limit, r"job \S+ ran on n1, n2; it ran over its time limit \(.*\)"),
    "node drained before the job": (
        cannot_start,
        r"job \S+ cannot start after \d+ s in the queue and was cancelled; .*: "
        r"n2 is (drained|offline) \(broken cable\)",
    ),
    "job held": (held, r"job \S+ is still waiting after \d+ s in the queue and was cancelled; .* says: it is held \("),
}
