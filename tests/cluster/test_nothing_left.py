# SPDX-License-Identifier: BSD-3-Clause
"""However a cluster ends, nothing of it is left."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ci.minicluster import control, state
from tests.cluster.conftest import CI, Cluster


def processes():
    """Return the keepers, and what runs in other PID namespaces, but for what is dead already."""
    mine = Path("/proc/self/ns/pid").readlink()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, status = (folder / "comm").read_text().strip(), (folder / "stat").read_text()
            namespace = (folder / "ns" / "pid").readlink()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended just now, or is another user's
        if status.rpartition(")")[2].split()[0] != "Z" and (namespace != mine or name == "fabric-cluster"):
            found.add((folder.name, name))
    return found


def traces():
    """Return everything that a cluster could leave on the machine."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return {
        "processes": processes(),
        "links": {line.split()[1] for line in links.splitlines()},
        "mounts": Path("/proc/self/mounts").read_text().splitlines(),
        "folders": sorted(Path(tempfile.gettempdir()).glob("fabric-cluster-*")),
        "index": sorted(state.INDEX.iterdir()) if state.INDEX.exists() else None,
        "named": sorted(Path("/run/netns").iterdir()) if Path("/run/netns").exists() else None,
    }


def assert_nothing_left(before, seconds=0.0):
    """Compare; after a SIGKILL the keeper or the kernel needs a moment."""
    deadline = time.monotonic() + seconds
    while (now := traces()) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert now == before


@pytest.fixture
def before(machine):
    return traces()


def started(cluster, *arguments):
    line = [*cluster.command, *arguments[:1], "--name", cluster.name, *arguments[1:]]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_down(before, cluster):
    cluster("up", "--nodes", "3")
    folder = cluster.entry.folder
    assert folder.exists() and len(processes()) > 10
    cluster("down")
    assert_nothing_left(before)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGINT, "reserved"),
        (signal.SIGINT, "namespaces"),
        (signal.SIGINT, "database"),
        (signal.SIGINT, "controller"),
        (signal.SIGTERM, "reserved"),
        (signal.SIGHUP, "database"),
    ],
)
def test_a_signal_during_up(before, cluster, number, moment, tmp_path, monkeypatch):
    """At the earliest possible moment, with the first hosts, and with daemons that are starting."""
    stand_in = tmp_path / "sinfo"
    stand_in.write_text("#!/bin/sh\n")  # no node is ever idle, so that the command cannot be ready before the signal
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    command = started(cluster, "up", "--nodes", "3")
    signs = {
        "namespaces": "run/n1.control",
        "database": "run/mariadb.socket",
        "controller": "run/slurmctld.pid",
    }
    wait_until(lambda: (state.INDEX / cluster.name).exists())
    if moment in signs:
        wait_until(lambda: cluster.entry is None or (cluster.entry.folder / signs[moment]).exists())
        assert cluster.entry, command.communicate()
    command.send_signal(number)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (128 + number, "", f"error: ended by {number.name}\n")
    assert_nothing_left(before)


def test_a_command_line_that_is_killed_during_up(before, cluster):
    command = started(cluster, "up", "--nodes", "3")
    wait_until(lambda: cluster.entry and (cluster.entry.folder / "run" / "n1.control").exists())
    command.kill()
    command.communicate()
    assert_nothing_left(before, 10)


def test_a_daemon_that_does_not_start(before, cluster, tmp_path):
    """The cause is told, although the logs are removed with all the rest."""
    broken = tmp_path / "slurmctld"
    broken.write_text("#!/bin/sh\necho 'slurmctld: fatal: out of luck' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = cluster.call("up", "--nodes", "2", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert done.stderr == "error: slurmctld ended while it started: slurmctld: fatal: out of luck\n"
    assert_nothing_left(before)


def test_the_supervisor_is_killed(before, cluster):
    cluster("up", "--nodes", "3", "--without-accounting")
    os.kill(control.listener(control.socket_of(cluster.entry.folder, "head")), signal.SIGKILL)
    assert_nothing_left(before, 10)


def test_the_keeper_is_killed(before, cluster):
    """All but the folder goes at once; the folder goes with the next command, whichever it is."""
    cluster("up", "--nodes", "3", "--without-accounting")
    folder, keeper = cluster.entry.folder, cluster.entry.keeper
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: processes() == before["processes"])
    assert folder.exists()
    done = subprocess.run([CI / "cluster", "status"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert_nothing_left(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_is_told_to_end(before, machine, number):
    """The signal reaches the command, whose own status is then that of `run`."""
    cluster = Cluster()
    script = "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; done"
    command = started(cluster, "run", "--nodes", "2", "--without-accounting", "--", "bash", "-c", script)
    assert command.stdout.readline() == "ready\n"
    command.send_signal(number)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (9, "", "")
    assert_nothing_left(before)


def test_run_is_killed(before, machine):
    command = started(Cluster(), "run", "--nodes", "2", "--without-accounting", "--", "sh", "-c", "echo on; sleep 99")
    assert command.stdout.readline() == "on\n"
    command.kill()
    command.communicate()
    assert_nothing_left(before, 10)
