# SPDX-License-Identifier: BSD-3-Clause
"""Every wait has an end, and says what was waited for."""

import os
import re
import signal
import socket
import threading

import pytest

from ci.minicluster import control, daemons, kernel, processes
from ci.minicluster.errors import ClusterError
from tests.guard import wait_for

SOON = 0.2


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Let the bounds be short."""
    for name in ("PATIENCE", "ANSWER", "GRACE"):
        monkeypatch.setattr(control, name, SOON)


@pytest.fixture
def stopped():
    """A child that does not end by itself, with one of its own."""

    def sleep():
        kernel.die_with_parent()
        signal.pause()
        return 0

    child = processes.fork(lambda: processes.wait_for(processes.fork(sleep)))
    wait_for(lambda: len(processes._left(child)) == 2, "it has no child")
    yield child
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_program_whose_output_is_kept_open_by_another_is_not_waited_for(tmp_path):
    """The one that is killed has a child, which has the pipe."""
    with pytest.raises(ClusterError, match="sh takes more than 0.2 s"):
        processes.run_program(
            ["sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; wait"], SOON
        )
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_child_that_does_not_end_is_named_with_its_children(stopped):
    number = re.escape(str(stopped))
    with pytest.raises(
        ClusterError,
        match=rf"it has not ended after 0.2 s: .*\({number}\) is in state [SR] at .*, .*\(",
    ):
        processes.wait_for_end(stopped, SOON, "it")


def test_a_pipe_that_nobody_closes():
    ready, told = os.pipe()
    os.write(told, b"half")
    with pytest.raises(ClusterError, match="the other takes more than 0.2 s"):
        processes.read_all(ready, SOON, "the other")
    os.close(told)


def test_one_who_never_answers(tmp_path):
    with (
        control.listen(tmp_path / "n1"),
        pytest.raises(ClusterError, match="n1 has not answered for 0.2 s"),
    ):
        control.request(tmp_path / "n1", "n1", do="status")


def test_one_who_lets_nobody_in(tmp_path):
    with control.listen(tmp_path / "n1") as server:
        server.listen(0)
        waiting = control.connect(tmp_path / "n1")
        with pytest.raises(
            ClusterError, match="no connection was accepted at .*/n1 for 0.2 s"
        ):
            control.connect(tmp_path / "n1")
        waiting.close()


def test_one_who_asks_nothing_keeps_nobody_waiting(tmp_path, monkeypatch):
    with control.listen(tmp_path / "n1") as server:
        silent = control.connect(tmp_path / "n1")
        serving = threading.Thread(
            target=lambda: [
                control.serve(server, lambda message: message) for _ in range(2)
            ]
        )
        serving.start()
        monkeypatch.setattr(control, "ANSWER", 60)
        assert control.request(tmp_path / "n1", "n1", do="echo") == {"do": "echo"}
        serving.join()
        silent.close()


def test_the_sockets_of_daemons_are_not_waited_for(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen(0)
        assert daemons.listens_at(
            tmp_path / "socket"
        )  # and that waits there from now on
        assert not daemons.listens_at(tmp_path / "socket")
