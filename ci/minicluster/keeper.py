# SPDX-License-Identifier: BSD-3-Clause
"""The keeper of a cluster: it starts the supervisor, and when that has ended it removes what is left, the
folder."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from pathlib import Path

from . import control, kernel, state, supervisor
from .errors import ClusterError, telling_line
from .processes import (
    PATIENCE,
    block_signals,
    close_all_but,
    fork,
    readable,
    reset_signals,
    wait_for_end,
)
from .spec import Spec

# Bounds of start and end altogether: of many waits, each with its own bound and a better message.
TO_BE_UP, TO_BE_DOWN = 20 * PATIENCE, 3 * PATIENCE


class Cluster:
    """A cluster that this process started: it ends with this process, unless it is let go."""

    def __init__(self, spec: Spec) -> None:
        """Begin. Who begins has to end it: the signals that would end the command are to be blocked until it
        can."""
        self.entry, self.folder, lock = state.reserve(spec)
        self._connection, theirs = socket.socketpair()
        self._keeper = fork(lambda: _keep(spec, self.entry, self.folder, theirs, lock))
        theirs.close()
        os.close(lock)

    def wait(self) -> None:
        """Wait until the cluster is up."""
        try:
            answer = control.receive(self._connection, TO_BE_UP)
        except TimeoutError:
            raise ClusterError(
                f"the cluster is not up after {TO_BE_UP:g} s; is the machine busy?"
            ) from None
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
        if wait_for_end(self._keeper, TO_BE_DOWN, f"the cluster in {self.folder}") != 0:
            raise ClusterError(
                f"the cluster did not end properly: {telling_line(_log(self.folder))}"
            )


def _keep(
    spec: Spec, entry: Path, folder: Path, connection: socket.socket, lock: int
) -> int:
    close_all_but(connection.fileno(), lock)
    reset_signals()
    block_signals()
    os.setsid()
    child = 0
    try:
        supervisor.prepare(spec, folder)
        os.chdir(folder)  # where a daemon that crashes leaves its core
        _redirect(_log(folder))
        kernel.set_name("fabric-cluster")
        mine = {
            "keeper": os.getpid(),
            "pid_namespace": state.pid_namespace(),
            "started": time.time(),
        }
        with state.index():  # nobody reads it half written
            state.write(entry, spec, folder, **mine)
        keeper = os.pidfd_open(os.getpid())
        _new_pid_namespace(spec)
        child = fork(lambda: _supervise(spec, folder, connection, lock, keeper))
        _wait(child, connection)
    except OSError as error:
        control.send(
            connection,
            {
                "error": f"the cluster cannot be made: {error.filename}: {error.strerror}"
            },
        )
    finally:
        if child:
            # All processes in the namespaces of a process 1 die with it, and waiting for it waits for all.
            os.kill(child, signal.SIGKILL)
            wait_for_end(child, PATIENCE, "the head, which was killed,")
        with state.index():
            state.remove(entry)
    return 0


def _log(folder: Path) -> Path:
    return folder / "log" / "keeper.out"


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


def _supervise(
    spec: Spec, folder: Path, connection: socket.socket, lock: int, keeper: int
) -> int:
    os.close(lock)
    reset_signals()
    kernel.die_with_parent()
    # In a PID namespace of its own it cannot see whether the keeper died before that.
    if readable(keeper, 0):
        return 1
    os.close(keeper)
    return supervisor.run(spec, folder, connection)


def _wait(child: int, connection: socket.socket) -> None:
    """Return when the supervisor has ended, or is to be ended: for as long as the cluster is wanted."""
    supervised = os.pidfd_open(child)
    signalled = _signal_descriptor()
    watched = [supervised, signalled, connection.fileno()]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if (
            connection.fileno() in ready
            and control.receive(connection, PATIENCE) is not None
        ):
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
