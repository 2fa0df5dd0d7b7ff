# SPDX-License-Identifier: BSD-3-Clause
"""The one allocation of a run: asked for, held, and given back. Imports no ReFrame.

ReFrame stays where it was started. The allocation is held by a process that waits for the end of its standard
input, which is a pipe from this process: however this one ends, the allocation is given back. Where the run
is itself inside of a job, as one that the user has, that job is the allocation, and is left as it is.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO

from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError
from fabric_checks.records.folding import unfolded
from fabric_checks.schedulers import model
from fabric_checks.schedulers.flux import output as flux
from fabric_checks.schedulers.model import ExitReason, Node
from fabric_checks.schedulers.slurm import output as slurm

#: How long a command of a scheduler may take.
COMMAND_S = 60.0
#: How many seconds the end of a job may take.
_TIDYING_S = 10
#: How long too few nodes are in service before fewer are asked for; how often a scheduler is asked while an
#: allocation waits.
OUT_OF_SERVICE_S, ASK_S = 30.0, 5.0
#: The nodes of a case, where the scheduler has no variable of its own for them.
NODES_VARIABLE = "FABRIC_NODES_OF_CASE"
#: Prints its environment, and holds the allocation until its standard input ends.
HOLDER = "env -0; echo; exec cat > /dev/null"
#: Why a run of another scheduler has no allocation.
OUTSIDE = "only Slurm is asked for an allocation; submit this command as a job (docs/schedulers.md)"
#: What a step of Slurm gives to what it starts, and what would bind, or start, the steps that this starts.
_OF_A_STEP = (
    *("SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST", "SLURM_CPU_BIND_TYPE", "SLURM_MEM_BIND"),
    *("SLURM_DISTRIBUTION", "SLURM_MPI_TYPE"),
)


@dataclass(frozen=True)
class Request:
    """What is asked for.

    :param nodes: how many; :param limit_s: for how long; :param access: the options of the partition.
    :param most_wait_s: how long it may be in the queue.
    """

    nodes: int
    limit_s: float
    access: Sequence[str] = ()
    most_wait_s: float = math.inf


@dataclass
class Allocation(ABC):
    """An allocation of nodes.

    ``job`` is the scheduler's name of it, and ``nodes`` those that it has, once it is ``held``. ``ended``
    says why it is there no more. ``began_s`` and ``ends_s`` are of the monotonic clock, which
    has no end if none is known.
    """

    request: Request
    job: str = ""
    nodes: list[str] = field(default_factory=list)
    held: bool = False
    ended: ExitReason | None = None
    began_s: float = 0.0
    ends_s: float = math.inf
    began: float = 0.0
    lost: dict[str, str] = field(default_factory=dict)

    @abstractmethod
    def follow(self) -> None:
        """Bring it up to date; ask for it the first time."""

    @abstractmethod
    def line(
        self, script: str, nodes: Sequence[str], ppn: int, folder: Path
    ) -> list[str]:
        """Return the command that starts a script on the first of some nodes as if they were a job of its
        own.

        :param ppn: processes on each; :param folder: the script's, which may keep a file.
        """

    def release(self) -> None:  # noqa: B027  (a job that the user has is left)
        """Give it back."""

    def end_steps(self, nodes: Sequence[str]) -> None:  # noqa: B027  (what is on this host ends with its script)
        """End what was started on some of its nodes and still runs."""

    def check(self) -> None:  # noqa: B027  (those that are left as they are)
        """Note its end, if it has just been taken back."""

    def is_ready(self) -> bool:
        """Tell whether steps can be started in it now."""
        return True

    def was_cut(self, printed: bytes) -> bool:
        """Tell by what was printed whether a script with status 0 did not come to its end."""
        return False

    def note_faults(self) -> dict[str, str]:
        """Ask for the faults of its nodes, keep those that do not pass by themselves, and return them."""
        with suppress(FabricError):  # what is known is kept
            lasting = [node for node in self._ask_nodes() if not node.comes_back]
            self.lost.update(model.faults(lasting, self.nodes))
        return self.lost

    def _ask_nodes(self) -> list[Node]:
        """Return what is known of its nodes."""
        return []

    @property
    def usable(self) -> list[str]:
        """The nodes that are left."""
        return [name for name in self.nodes if name not in self.lost]

    def take(self, job: str, nodes: list[str]) -> None:
        """Note that it is held: the scheduler's name of it, and its nodes."""
        self.job, self.nodes, self.held = job, nodes, True
        self.began_s, self.began = time.monotonic(), time.time()


def _show(*what: str) -> str:
    """Return the lines of Slurm's controller on jobs or nodes."""
    return printed(["scontrol", "-a", "-d", "-o", "show", *what])


class Slurm(Allocation):
    """An allocation by ``salloc``, or the one that the process is in."""

    _process: subprocess.Popen[bytes] | None = None
    _out: IO[bytes]
    _err: IO[bytes]
    _env: dict[str, str]
    _asked_s = 0.0
    _asked_nodes_s = 0.0
    _short_since_s: float | None = None
    _away_since_s: float | None = None

    def follow(self) -> None:
        """Bring it up to date; ask for it the first time."""
        if self.held and self._process is None:
            return
        if self._process is None:
            self._ask()
        elif not self.held:
            self._look()
        elif self._process.poll() is not None and not self.ended:
            self._note_end(self._state_of_job())

    def _ask(self) -> None:
        if job := os.environ.get("SLURM_JOB_ID"):
            self._env = {}
            self.take(job, unfolded(os.environ["SLURM_JOB_NODELIST"]))
            return
        # They are closed where the allocation is given back.
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        words = shlex.split(" ".join(self.request.access))
        minutes = math.ceil(self.request.limit_s / 60)
        line = [
            *("salloc", "--job-name=fabric-checks", "--exclusive", "--no-kill"),
            *(f"--nodes={self.request.nodes}", f"--time={minutes}", *words),
            *("sh", "-c", HOLDER),
        ]
        # A session of its own: an interrupt is for the case that runs, which needs the allocation to end.
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=self._out, stderr=self._err, start_new_session=True
        )  # fmt: skip
        self._asked_s = time.monotonic()

    def take(self, job: str, nodes: list[str]) -> None:
        """Note that it is held, and until when."""
        super().take(job, nodes)
        self.ends_s = self.began_s + self.request.limit_s
        # The options of a partition, its limit, or whoever asked for it may have set another time.
        with suppress(FabricError, ValueError):
            found = re.search(r" EndTime=(\S+)", _show("job", job))
            if found:
                left = datetime.fromisoformat(found[1]) - datetime.now()
                self.ends_s = time.monotonic() + left.total_seconds()

    def _text(self, file: IO[bytes]) -> str:
        # Whoever writes to it shares the position.
        return os.pread(file.fileno(), 2**20, 0).decode(errors="replace")

    def _look(self) -> None:
        """Take the allocation if it is there."""
        begin, whole, _ = self._text(self._out).partition("\0\n")
        if whole:
            pairs = (each.partition("=") for each in begin.split("\0"))
            self._env = {
                name: value for name, _, value in pairs if name.startswith("SLURM_")
            }
            self.take(
                self._env["SLURM_JOB_ID"], unfolded(self._env["SLURM_JOB_NODELIST"])
            )
        elif self._process and self._process.poll() is not None:
            said = self._text(self._err).strip().splitlines() or ["it printed nothing"]
            self.ended = ExitReason(
                f"salloc: {said[-1].removeprefix('salloc: error: ')}"
            )
        elif time.monotonic() >= self._asked_nodes_s + ASK_S:
            self._asked_nodes_s = time.monotonic()
            self._look_at_queue()

    def _look_at_queue(self) -> None:
        """Ask for fewer nodes if too few are in service; give up what waits for too long."""
        pending = re.search(r"Pending job allocation (\d+)", self._text(self._err))
        if not pending:
            return
        try:
            job = slurm.parse_job(_show("job", pending[1]))
            nodes = [
                each for each in self._ask_nodes() if each.partitions & job.partitions
            ]
        except FabricError:
            return  # it is asked again
        waited_s = time.monotonic() - self._asked_s
        if waited_s >= self.request.most_wait_s:
            self.ended = model.timed_out(
                pending[1], waited_s, "Slurm", job.reason, nodes
            )
            self.release()
            return
        if not model.too_few(nodes, job.least_nodes):
            self._short_since_s = None
            return
        self._short_since_s = self._short_since_s or time.monotonic()
        if time.monotonic() - self._short_since_s >= OUT_OF_SERVICE_S:
            self._ask_for_fewer(pending[1], job, nodes)

    def _ask_for_fewer(self, name: str, job: slurm.Job, nodes: Sequence[Node]) -> None:
        self.release()
        self.lost.update(model.faults(nodes))
        left = sum(node.fault is None for node in nodes)
        if not left:
            waited_s = time.monotonic() - self._asked_s
            self.ended = model.timed_out(
                name, waited_s, "Slurm", job.reason, nodes, unschedulable=True
            )
            return
        self.request = replace(self.request, nodes=left)
        self._ask()

    def _ask_nodes(self) -> list[Node]:
        """Return its nodes, before it is held all of them."""
        return slurm.parse_nodes(_show("node", *filter(None, [",".join(self.nodes)])))

    def check(self) -> None:
        """Note the end of an allocation that Slurm has taken back, of which salloc may not know yet."""
        if (
            self.held
            and not self.ended
            and (state := self._state_of_job()) != "RUNNING"
        ):
            self._note_end(state)

    def _state_of_job(self) -> str:
        """Return the state of the job, its final one if it is being tidied up."""
        state = "RUNNING"
        with suppress(FabricError):  # a controller that is away takes nothing back
            for _ in range(_TIDYING_S):
                state = slurm.parse_job(_show("job", self.job)).state
                if state != "COMPLETING":
                    break
                time.sleep(1)
        return state

    def _note_end(self, state: str) -> None:
        """Note why Slurm took it back."""
        cause = slurm.CAUSES.get(state, "it was revoked")
        known = [Node(name, why) for name, why in self.note_faults().items()]
        self.ended = model.terminated(self.job, self.nodes, cause, state, known)

    def is_ready(self) -> bool:
        """Tell whether steps can be started in it now: for a while not, where the controller is away or has
        just been restarted. It denies steps on nodes that are yet to report to it."""
        with suppress(FabricError):
            if not any(node.comes_back for node in self._ask_nodes()):
                self._away_since_s = None
                return True
        self._away_since_s = self._away_since_s or time.monotonic()
        return time.monotonic() - self._away_since_s >= OUT_OF_SERVICE_S

    def was_cut(self, printed: bytes) -> bool:
        """Tell by what was printed whether a script with status 0 did not come to its end: so srun 22.05 ends
        if the script's node dies."""
        return b"srun: error: Node failure on " in printed

    def line(
        self, script: str, nodes: Sequence[str], ppn: int, folder: Path
    ) -> list[str]:
        """Return the command that starts a script on the first of some nodes as if they were a job of its
        own; its step shares its CPUs with those that it starts.

        An ``--interactive`` step would do so too, but is on the first node of the allocation alone.
        """
        names, count = ",".join(nodes), len(nodes)
        own = self._env | {
            **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), names),
            **dict.fromkeys(("SLURM_JOB_NUM_NODES", "SLURM_NNODES"), f"{count}"),
            **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), f"{count * ppn}"),
            "SLURM_NTASKS_PER_NODE": f"{ppn}",
            "SLURM_TASKS_PER_NODE": f"{ppn}(x{count})" if count > 1 else f"{ppn}",
        }
        own |= {name: os.environ[name] for name in _OF_A_STEP if name in os.environ}
        without = [word for name in _OF_A_STEP for word in ("-u", name)]
        return [
            *("srun", f"--jobid={self.job}", "--overlap", "--mpi=none", "--mem=0"),
            *("--nodes=1", "--ntasks=1", f"--nodelist={nodes[0]}", "env", *without),
            *(f"{name}={value}" for name, value in own.items()),
            script,
        ]

    def end_steps(self, nodes: Sequence[str]) -> None:
        """End what was started on some of its nodes and still runs."""
        of_nodes = ("-w", ",".join(nodes))
        with suppress(FabricError):  # they end with the allocation
            listed = printed(
                ["squeue", "-h", "-s", "-j", self.job, "-o", "%i", *of_nodes]
            )
            steps = [
                each for each in listed.split() if each.rpartition(".")[2].isdecimal()
            ]
            if steps:
                printed(["scancel", "--signal=KILL", *steps])

    def release(self) -> None:
        """Give it back, and wait until Slurm has it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        if not self.held:
            process.terminate()  # salloc withdraws what waits
        try:
            process.wait(COMMAND_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._out.close()
        self._err.close()


class Inside(Allocation):
    """The job that the process is in, on its first node: of PBS or LSF, whose launchers read a file of nodes.

    ``variables`` are that of the job's name and that of the file.
    """

    variables: tuple[str, str]

    def follow(self) -> None:
        """Take it."""
        if self.held:
            return
        job, file = (os.environ.get(name) for name in self.variables)
        if not job or not file:
            self.ended = ExitReason(f"{self.variables[0]} is not set: {OUTSIDE}")
            return
        self.take(job, list(dict.fromkeys(Path(file).read_text().split())))

    def line(
        self, script: str, nodes: Sequence[str], ppn: int, folder: Path
    ) -> list[str]:
        """Return the command that starts a script here, with a file of nodes of its own."""
        file = folder / "nodes-of-case"
        file.write_text("".join(f"{name}\n" for name in nodes for _ in range(ppn)))
        return ["env", f"{self.variables[1]}={file}", script]


class Pbs(Inside):
    """The job of PBS that the process is in."""

    variables = ("PBS_JOBID", "PBS_NODEFILE")


class Lsf(Inside):
    """The job of LSF that the process is in."""

    variables = ("LSB_JOBID", "LSB_DJOB_HOSTFILE")

    def line(
        self, script: str, nodes: Sequence[str], ppn: int, folder: Path
    ) -> list[str]:
        """Return the command that starts a script here, with its nodes also where MPICH reads them."""
        hosts = " ".join(f"{name} {ppn}" for name in nodes)
        begin, *rest = super().line(script, nodes, ppn, folder)
        return [begin, f"LSB_MCPU_HOSTS={hosts}", *rest]


class Flux(Allocation):
    """The instance of Flux that the process is in."""

    def follow(self) -> None:
        """Take it."""
        if self.held:
            return
        try:
            nodes = unfolded(printed(["flux", "getattr", "hostlist"]).strip())
            name = printed(["flux", "getattr", "jobid"]).strip()
            self.take(printed(["flux", "job", "id", name]).strip(), nodes)
            left_s = float(printed(["flux", "job", "timeleft"]))
            self.ends_s = self.began_s + left_s
        except FabricError as error:
            self.ended = ExitReason(f"{error}: {OUTSIDE}")

    def line(
        self, script: str, nodes: Sequence[str], ppn: int, folder: Path
    ) -> list[str]:
        """Return the command that starts a script here, which knows its nodes."""
        return ["env", f"{NODES_VARIABLE}={','.join(nodes)}", script]

    def _ask_nodes(self) -> list[Node]:
        return flux.ask_nodes()
