# SPDX-License-Identifier: BSD-3-Clause
"""A host: process 1 of namespaces of its own, which starts a daemon, does what the head asks, and collects
orphans."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from . import control, kernel, mounts, network, schedulers
from .daemons import Reaper
from .errors import ClusterError
from .processes import PATIENCE, close_all_but, fork, read_all, wait_for_end
from .spec import Spec

NAMESPACES = ("pid", "net", "mnt", "uts", "ipc")


class Host:
    """A host as its head sees it."""

    def __init__(self, spec: Spec, folder: Path, name: str) -> None:
        self.spec, self.folder, self.name = spec, folder, name
        self.socket = control.socket_of(folder, name)
        self._booting: tuple[int, int] | None = None

    @property
    def pid(self) -> int | None:
        return control.listener(self.socket)

    def boot(self) -> None:
        """Start the host's process; `wait` waits until it is there."""
        ready, report = os.pipe()
        self._booting = (
            fork(lambda: _into_namespaces(self.spec, self.folder, self.name, report)),
            ready,
        )
        os.close(report)

    def wait(self) -> int:
        """Return the host's process, by its number here."""
        assert self._booting is not None
        (child, ready), self._booting = self._booting, None
        text = read_all(ready, PATIENCE, f"the start of {self.name}")
        wait_for_end(child, PATIENCE, f"what made {self.name}")
        if text != "ready":
            raise ClusterError(
                f"{self.name} cannot be made: {text or 'its process ended'}"
            )
        pid = self.pid
        assert pid
        return pid

    def ask(self, **message: object) -> socket.socket:
        return control.ask(self.socket, self.name, **message)

    def answer(self, connection: socket.socket) -> dict:
        return control.answer_of(connection, self.name)

    def request(self, **message: object) -> dict:
        return self.answer(self.ask(**message))

    def kill(self) -> None:
        """Cut the power: the kernel kills all that runs there."""
        pid = self.pid
        if not pid:
            raise ClusterError(
                f"{self.name} is not running; `ci/cluster start {self.name}` boots it"
            )
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid, PATIENCE, f"{self.name}, which was killed,")


def _into_namespaces(spec: Spec, folder: Path, name: str, report: int) -> int:
    """Make the namespaces; a new PID namespace begins with the next child, which the supervisor inherits."""
    signal.set_wakeup_fd(-1)  # the supervisor's, which is closed now
    close_all_but(report)
    try:
        kernel.unshare(*NAMESPACES)
    except OSError as error:
        os.write(report, f"{error.filename}: {error.strerror}".encode())
        return 1
    fork(lambda: _run(spec, folder, name, report))
    return 0


def _run(spec: Spec, folder: Path, name: str, report: int) -> int:
    kernel.set_name(name)
    try:
        socket.sethostname(name)
        mounts.own(folder)
        network.without_ipv6()
        server = control.listen(control.socket_of(folder, name))
    except OSError as error:
        os.write(report, f"{error.filename}: {error.strerror}".encode())
        return 1
    os.write(report, b"ready")
    os.close(report)
    inside = Inside(spec, folder, name)
    reaper = Reaper()
    while True:
        if reaper.wait(server):
            control.serve(server, inside.handle)
        reaper.collect([inside.daemon])


class Inside:
    """The operations of a host on request."""

    def __init__(self, spec: Spec, folder: Path, name: str) -> None:
        self.name = name
        self.links = [network.host_side(rail) for rail in range(spec.rails)]
        self.scheduler = schedulers.of(spec, folder)
        self.daemon = self.scheduler.node_daemon(name)

    def handle(self, message: dict) -> dict:
        match message["do"]:
            case "connect":
                network.run_batch(
                    "ip", network.host_commands(self.name, len(self.links))
                )
                network.limit(self.links, message["link"])
            case "limit":
                network.limit(self.links, message["link"])
            case "start":
                if self.daemon.runs:
                    raise ClusterError(
                        f"{self.name} and its {self.daemon.name} are running already"
                    )
                self.daemon.start()
                self.daemon.wait_until(
                    lambda: self.scheduler.node_answers(self.name), 30
                )
            case "status":
                # Whether it runs is under that name whatever it is: a clone that knows Slurm only asks for
                # it.
                return {"daemon": self.daemon.name, "slurmd": self.daemon.runs}
        return {}
