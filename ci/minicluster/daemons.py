# SPDX-License-Identifier: BSD-3-Clause
"""Daemons as children: started with a log, waited for until they answer, and reaped."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import kernel
from .errors import ClusterError, telling_line
from .processes import PATIENCE, run_program
from .spec import Account

# Daemons are not on the PATH of an ordinary user.
SYSTEM_FOLDERS = (
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
)


def search_path(path: str, prefix: str = "") -> str:
    """Return PATH with the folders of daemons after the user's own, and those of a prefix, if there is one,
    before."""
    first = [f"{prefix}/bin", f"{prefix}/sbin"] if prefix else []
    return ":".join(
        dict.fromkeys([*first, *filter(None, path.split(":")), *SYSTEM_FOLDERS])
    )


def become(account: Account) -> None:
    """Be the ordinary user again, who is root in the namespaces of a rootless cluster.

    As root, slurmd would call setgroups, which a user namespace of an ordinary user does not have.
    """
    if account.rootless:
        kernel.unshare("user")
        kernel.map_user(account.uid, 0, account.gid, 0)


class Daemon:
    """One program that is to run as long as the cluster."""

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        account: Account,
        **environment: str,
    ) -> None:
        self.name, self.command, self.log, self.account = name, command, log, account
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment,
                preexec_fn=lambda: become(self.account),
                start_new_session=True,
            )

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                raise ClusterError(
                    f"{self.name} was killed and has not ended after {PATIENCE:g} s"
                ) from None

    def finish(self, seconds: float) -> None:
        """Wait for a program that does one thing and ends."""
        assert self.process is not None
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ClusterError(
                f"{self.name} takes more than {seconds:g} s: {telling_line(self.log)}"
            ) from None
        if status != 0:
            raise ClusterError(f"{self.name} failed: {telling_line(self.log)}")

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until the daemon is ready; it has to run even then."""
        deadline = time.monotonic() + seconds
        while True:
            is_ready = ready()
            if not self.runs:
                raise ClusterError(
                    f"{self.name} ended while it started: {telling_line(self.log)}"
                )
            if is_ready:
                return
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{self.name} does not answer after {seconds:g} s: {telling_line(self.log)}"
                )
            time.sleep(0.02)


def run_client(
    account: Account, command: list[str], seconds: float, **environment: str
) -> str:
    """Run a program that does one thing and return its output."""
    return run_program(
        command, seconds, environment=environment, before=lambda: become(account)
    )


def listens(address: str, port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((address, port)) == 0


def listens_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)  # where as many wait as may, a connection would
        return client.connect_ex(str(path)) == 0


class Reaper:
    """The duty of process 1 to collect orphans. Children of its own are left to their owners."""

    def __init__(self) -> None:
        self._wake, handler = socket.socketpair()
        self._wake.setblocking(False)
        handler.setblocking(False)
        self._handler = handler
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(handler.fileno(), warn_on_full_buffer=False)

    def wait(self, *readable: socket.socket) -> list[socket.socket]:
        """Return when something can be read, or when a child has ended; a host waits for that as long as it
        lives."""
        ready, _, _ = select.select([self._wake, *readable], [], [])
        if self._wake in ready:
            self._wake.recv(4096)
            ready.remove(self._wake)
        return ready

    @staticmethod
    def collect(daemons: list[Daemon]) -> None:
        own = {daemon.process.pid for daemon in daemons if daemon.process is not None}
        for daemon in daemons:
            if daemon.process is not None:
                daemon.process.poll()
        while True:
            try:
                child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if child is None or child.si_pid in own:
                return
            os.waitpid(child.si_pid, 0)
