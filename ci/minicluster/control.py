# SPDX-License-Identifier: BSD-3-Clause
"""Requests to a supervisor and to a host: one line of JSON, answered by one."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from .errors import ClusterError
from .processes import GRACE, PATIENCE

# How long a request may take: the head works on one after the other, and each may wait for several things.
ANSWER = 5 * PATIENCE


def socket_of(folder: Path, host: str) -> Path:
    """Return where the head, or a host, listens."""
    return folder / "run" / f"{host}.control"


def send(connection: socket.socket, message: dict) -> None:
    connection.settimeout(
        PATIENCE
    )  # it fits into the buffer, unless who should read it has been stopped
    connection.sendall(json.dumps(message).encode() + b"\n")


def receive(connection: socket.socket, seconds: float) -> dict | None:
    """Return the next message, or None when the other side is gone.

    :raises TimeoutError: if it does not come in that time.
    """
    deadline = time.monotonic() + seconds
    text = b""
    while not text.endswith(b"\n"):
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            return None
        text += more
    return json.loads(text)


def listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def connect(path: Path) -> socket.socket | None:
    """Return a connection, or None where nobody listens."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        except BlockingIOError:  # as many as may wait there do
            if time.monotonic() > deadline:
                connection.close()
                raise ClusterError(
                    f"no connection was accepted at {path} for {PATIENCE:g} s; has that process been stopped?"
                ) from None
            time.sleep(0.02)
        else:
            return connection


def ask(path: Path, who: str, **message: object) -> socket.socket:
    """Send a request; the answer is read later, so that several can work on theirs at once."""
    connection = connect(path)
    if connection is None:
        raise ClusterError(f"{who} is not running; see `ci/cluster status`")
    send(connection, message)
    return connection


def answer_of(connection: socket.socket, who: str) -> dict:
    """Return the answer to a request; an error in it becomes one here."""
    with connection:
        try:
            answer = receive(connection, ANSWER)
        except TimeoutError:
            raise ClusterError(
                f"{who} has not answered for {ANSWER:g} s; has it been stopped?"
            ) from None
    if answer is None:
        raise ClusterError(f"{who} ended before it answered; see `ci/cluster status`")
    if "error" in answer:
        raise ClusterError(answer["error"])
    return answer


def request(path: Path, who: str, **message: object) -> dict:
    return answer_of(ask(path, who, **message), who)


def serve(server: socket.socket, handle: Callable[[dict], dict]) -> None:
    """Answer one request. One that does not come, or whose answer is not taken, keeps nobody else waiting for
    long."""
    connection, _ = server.accept()
    with connection:
        try:
            message = receive(connection, GRACE)
        except TimeoutError:
            return
        if message is None:
            return
        try:
            answer = handle(message)
        except ClusterError as error:
            answer = {"error": str(error)}
        try:
            send(connection, answer)
        except (BrokenPipeError, TimeoutError):
            return  # who asked did not wait for the answer


def listener(path: Path) -> int | None:
    """Return the process that listens there, or None where nobody does.

    The kernel gives its number in the PID namespace of the one who asks, and 0 where it is not visible.
    """
    connection = connect(path)
    if connection is None:
        return None
    with connection:
        credentials = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
    return struct.unpack("3i", credentials)[0]
