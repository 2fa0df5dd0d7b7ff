# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a scheduler of a cluster: its daemons on the head and on the hosts."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from .daemons import Daemon, run_client
from .errors import ClusterError
from .processes import PATIENCE
from .spec import HEAD, Spec


class Scheduler:
    """The parts of one scheduler; the head calls the methods in the order in which they stand here.

    A host has an object of its own, of which only the last two methods are called.
    """

    #: Its name in messages.
    title: str
    #: The command that shows its nodes.
    look: str
    #: The programs that it needs, and the Debian package of each; None where Debian has none.
    programs: ClassVar[dict[str, str | None]]
    #: The variable that names the folder where it is installed, if it is one that Debian does not have.
    prefix_variable: str | None = None
    #: Daemons of the head that `kill` and `start` take.
    services: tuple[str, ...] = ()
    #: Folders that it needs in addition to those of every cluster.
    folders: tuple[str, ...] = ()
    #: The state of a node that takes jobs, in its own words.
    idle: str
    #: Prefixes of the variables that it sets for its jobs.
    variables: tuple[str, ...] = ()

    def __init__(self, spec: Spec, folder: Path) -> None:
        self.spec, self.folder = spec, folder

    @classmethod
    def refuse(cls, spec: Spec) -> None:
        """Raise :class:`ClusterError` if a cluster cannot be as it was asked for."""

    @property
    def daemons(self) -> list[Daemon]:
        """The daemons of the head."""
        raise NotImplementedError

    def write_files(self) -> None:
        """Write the configuration; the namespaces of the head are there."""

    def begin(self) -> None:
        """Start what does not need the hosts."""

    def start(self) -> None:
        """Start the rest of the head: the hosts are connected, and their daemons are started next."""
        raise NotImplementedError

    def late(self) -> dict[str, str]:
        """Return the hosts that take no jobs yet, with their states in the scheduler's words."""
        states = {host: "unknown" for host in self.spec.hosts} | self.states()
        return {host: state for host, state in states.items() if state != self.idle}

    def states(self) -> dict[str, str]:
        """Return the states of its nodes, by name."""
        raise NotImplementedError

    def restart(self, service: str) -> None:
        """Start one of the services again."""
        raise ClusterError(f"{service} is not a service of {self.title}")

    def environment(self) -> dict[str, str]:
        """Return what its commands need to mean this cluster, on any host."""
        raise NotImplementedError

    def node_daemon(self, host: str) -> Daemon:
        """Return the daemon of a host."""
        raise NotImplementedError

    def node_answers(self, host: str) -> bool:
        """Tell whether a host's daemon listens; called on the host."""
        raise NotImplementedError

    def _daemon(
        self, name: str, command: list[str], host: str = HEAD, **environment: str
    ) -> Daemon:
        log = self.folder / "log" / f"{name}{'' if host == HEAD else f'.{host}'}.out"
        return Daemon(name, command, log, self.spec.account, **environment)

    def _run(self, *command: str) -> str:
        return run_client(
            self.spec.account, list(command), PATIENCE, **self.environment()
        )
