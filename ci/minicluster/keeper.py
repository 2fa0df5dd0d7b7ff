# SPDX-License-Identifier: BSD-3-Clause
"""The keeper of a cluster: it starts the supervisor, and when that has ended it removes what is left, the folder."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from pathlib import Path

from . import control, kernel, state, supervisor
from .errors import ClusterError
from .processes import ENDING, block_signals, close_all_but, fork, reset_signals
from .spec import Spec


class Cluster:
    """A cluster that this process started: it ends with this process, unless it is let go."""

    def __init__(self, spec: Spec) -> None:
        # From the entry in the index to the keeper that will remove it there must be no interruption.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.entry, self.folder, lock = state.reserve(spec)
            self._connection, theirs = socket.socketpair()
            self._keeper = fork(lambda: _keep(spec, self.entry, self.folder, theirs, lock))
            theirs.close()
            os.close(lock)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wait(self) -> None:
        """Wait until the cluster is up."""
        answer = control.receive(self._connection)
        if answer is None:
            raise ClusterError("the cluster was ended while it started")
        if "error" in answer:
            raise ClusterError(answer["error"])

    def let_go(self) -> None:
        """Leave the cluster to itself, until `down`."""
        control.send(self._connection, {"let go": True})
        self._connection.close()

    def end(self) -> None:
        """End the cluster, and return when nothing is left of it."""
        self._connection.close()
        os.waitpid(self._keeper, 0)


def _keep(spec: Spec, entry: Path, folder: Path, connection: socket.socket, lock: int) -> int:
    close_all_but(connection.fileno(), lock)
    reset_signals()
    block_signals()
    os.setsid()
    child = 0
    try:
        supervisor.prepare(folder)
        os.chdir(folder)  # where a daemon that crashes leaves its core
        _redirect(folder / "log" / "keeper.out")
        kernel.set_name("fabric-cluster")
        mine = {"keeper": os.getpid(), "pid_namespace": state.pid_namespace(), "started": time.time()}
        state.write(entry, spec, folder, **mine)
        keeper = os.pidfd_open(os.getpid())
        _new_pid_namespace(spec)
        child = fork(lambda: _supervise(spec, folder, connection, lock, keeper))
        _wait(child, connection)
    except OSError as error:
        control.send(connection, {"error": f"the cluster cannot be made: {error.filename}: {error.strerror}"})
    finally:
        if child:
            # All processes in the namespaces of a process 1 die with it, and waiting for it waits for all.
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with state.index():
            state.remove(entry)
    return 0


def _redirect(log: Path) -> None:
    """Let go of the caller's terminal or pipe, or who reads that would wait for its end."""
    with Path(os.devnull).open() as null, log.open("wb") as file:
        os.dup2(null.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _new_pid_namespace(spec: Spec) -> None:
    if spec.account.rootless:
        kernel.unshare("user", "pid")
        kernel.map_user(0, spec.account.uid, 0, spec.account.gid)
    else:
        kernel.unshare("pid")


def _supervise(spec: Spec, folder: Path, connection: socket.socket, lock: int, keeper: int) -> int:
    os.close(lock)
    reset_signals()
    kernel.die_with_parent()
    # In a PID namespace of its own it cannot see whether the keeper died before that.
    if select.select([keeper], [], [], 0)[0]:
        return 1
    os.close(keeper)
    return supervisor.run(spec, folder, connection)


def _wait(child: int, connection: socket.socket) -> None:
    """Return when the supervisor has ended, or is to be ended."""
    supervised = os.pidfd_open(child)
    told = _signal_descriptor()
    watched = [supervised, told, connection.fileno()]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if connection.fileno() in ready and control.receive(connection) is not None:
            watched.remove(connection.fileno())  # let go
            continue
        return


def _signal_descriptor() -> int:
    """Return what can be read when a signal came that ends the cluster."""
    mine, handler = socket.socketpair()
    handler.setblocking(False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.set_wakeup_fd(handler.detach())
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return mine.detach()
