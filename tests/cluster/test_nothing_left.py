# SPDX-License-Identifier: BSD-3-Clause
"""However a cluster ends, and under which scheduler, nothing of it is left."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from ci.minicluster import control, state
from tests import programs
from tests.cluster.conftest import CI, MARK, Cluster, require
from tests.conftest import ROOT
from tests.guard import ENDLESS_S, GUARD_S, wait_for


def processes(cluster):
    """Return what runs of a cluster, in whichever namespace, but for what is dead already."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            status = (folder / "stat").read_text()
            environment = (folder / "environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended just now, or is another user's
        if (
            status.rpartition(")")[2].split()[0] != "Z"
            and f"{MARK}={cluster.name}".encode() in environment
        ):
            found.add((folder.name, name))
    return found


def machine_wide():
    """Return what no cluster may change on the machine: others' clusters do not either."""
    links = programs.run(["ip", "-o", "link"], check=True).stdout
    return {
        "links": {line.split()[1] for line in links.splitlines()},
        "mounts": {
            line
            for line in Path("/proc/self/mounts").read_text().splitlines()
            if "fabric-cluster-" in line
        },
        "named": sorted(Path("/run/netns").iterdir())
        if Path("/run/netns").exists()
        else None,
    }


def left_of(cluster):
    """Return all that is there of a cluster."""
    folders = list(Path(cluster.place).iterdir())
    return (
        processes(cluster)
        | set(folders)
        | ({"its entry"} if (state.INDEX / cluster.name).exists() else set())
    )


class Placed(Cluster):
    """A cluster whose folder is in a folder of its own, which is empty before and afterwards."""

    def __init__(self):
        super().__init__()
        self.place = tempfile.mkdtemp(prefix="c-")

    def environment(self):
        return super().environment() | {"TMPDIR": self.place}

    def started(self, *arguments):
        """Start a command; SIGINT ends it even if the tests run in the background of a shell, where it is
        ignored."""
        line = [*self.command, *arguments[:1], "--name", self.name, *arguments[1:]]
        pipe = subprocess.PIPE
        default = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                line, stdout=pipe, stderr=pipe, text=True, env=self.environment()
            )
        finally:
            signal.signal(signal.SIGINT, default)


@pytest.fixture
def cluster(machine):
    """A cluster to be; whatever a test does to it, nothing may be left afterwards, nor may the machine have
    changed."""
    before, cluster = machine_wide(), Placed()
    yield cluster
    if cluster.entry:
        cluster("down")
    assert machine_wide() == before
    Path(cluster.place).rmdir()


@pytest.fixture(params=["slurm", "flux", "pbs"])
def small(request):
    """The options of a cluster of two nodes under each scheduler that is installed."""
    require(request.param)
    accounting = ["--without-accounting"] if request.param == "slurm" else []
    return ["--nodes", "2", "--scheduler", request.param, *accounting]


#: Files of a cluster that are there when its hosts, its database, its controller or another first daemon are
#: made.
HOSTS = "run/n1.control"
DATABASE = "run/mariadb.socket"
CONTROLLER = "run/slurmctld.pid"
FLUX, PBS = "flux/head/local", "pbs/head/datastore"


@pytest.mark.parametrize(
    "scheduler, number, sign",
    [
        ("slurm", signal.SIGINT, None),
        ("slurm", signal.SIGHUP, DATABASE),
        ("slurm", signal.SIGTERM, CONTROLLER),
        ("slurm", signal.SIGKILL, HOSTS),
        *((name, number, sign) for name, sign in (("flux", FLUX), ("pbs", PBS))
          for number in (signal.SIGINT, signal.SIGKILL)),
    ],
)  # fmt: skip
def test_a_signal_during_up(cluster, scheduler, number, sign, tmp_path, monkeypatch):
    """At the earliest possible moment, with the first hosts, and with daemons that are starting."""
    require(scheduler)
    stand_in = tmp_path / "sinfo"
    stand_in.write_text(
        "#!/bin/sh\n"
    )  # no node is ever idle, so that the command cannot be ready before the signal
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    command = cluster.started("up", "--nodes", "3", "--scheduler", scheduler)
    wait_for(lambda: (state.INDEX / cluster.name).exists(), "no entry")
    if sign:
        wait_for(
            lambda: cluster.entry is None or (cluster.entry.folder / sign).exists(),
            f"no {sign}",
        )
        assert cluster.entry, command.communicate()
    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD_S)
    if number == signal.SIGKILL:
        wait_for(lambda: not left_of(cluster), lambda: left_of(cluster))
    else:
        assert command.returncode == 128 + number
        assert out == ""
        assert err == f"error: ended by {number.name}\n"
        assert not left_of(cluster)


@pytest.mark.parametrize("moment", ["reserve", "fork"])
def test_a_signal_while_the_keeper_is_made(cluster, moment):
    """The command that made the entry sees to its end, although the signal came before it could have."""
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(CI)!r})
from minicluster import commands, keeper, state
place = keeper if {moment!r} == "fork" else state
real = getattr(place, {moment!r})
def interrupted(*arguments):
    made = real(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
    return made
setattr(place, {moment!r}, interrupted)
sys.exit(commands.main(["up", "--nodes", "2", "--name", {cluster.name!r}]))
"""
    line, env = [sys.executable, "-c", script], cluster.environment()
    done = programs.run(line, env=env)
    assert done.returncode == 130
    assert done.stderr == "error: ended by SIGINT\n"
    assert not left_of(cluster)


def test_a_daemon_that_does_not_start(cluster, tmp_path):
    """The cause is printed, although the logs are removed with all the rest."""
    broken = tmp_path / "slurmctld"
    broken.write_text("#!/bin/sh\necho 'slurmctld: fatal: out of luck' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = cluster.call("up", "--nodes", "2", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert (
        done.stderr
        == "error: slurmctld ended while it started: slurmctld: fatal: out of luck\n"
    )
    assert not left_of(cluster)


def test_the_supervisor_is_killed(cluster, small):
    cluster("up", *small)
    os.kill(
        control.listener(control.socket_of(cluster.entry.folder, "head")),
        signal.SIGKILL,
    )
    wait_for(lambda: not left_of(cluster), lambda: left_of(cluster))


def test_the_keeper_is_killed(cluster, small):
    """All but the folder goes at once; the folder goes with the next command for any cluster."""
    cluster("up", *small)
    os.kill(cluster.entry.keeper, signal.SIGKILL)
    wait_for(lambda: not processes(cluster), lambda: processes(cluster))
    programs.succeed([CI / "cluster", "status"])
    assert not left_of(cluster)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_run_is_ended_by_a_signal(cluster, small, number):
    """The signal reaches the command, whose own status is then that of `run`."""
    script = "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; done"
    command = cluster.started("run", *small, "--", "bash", "-c", script)
    assert command.stdout.readline() == "ready\n"
    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD_S)
    assert command.returncode == (-number if number == signal.SIGKILL else 9)
    assert out == ""
    assert err == ""
    wait_for(lambda: not left_of(cluster), lambda: left_of(cluster))


#: A test that is interrupted after it has started a cluster, which no fixture of it ends.
INTERRUPTED = f"""
import time
from pathlib import Path
from tests.cluster.conftest import Cluster
def test_that_waits():
    Cluster()("up", "--nodes", "2")
    Path(__file__).with_name("up").touch()
    time.sleep({ENDLESS_S})
"""


def test_an_interrupt_of_pytest_alone_takes_its_clusters_down(
    machine, monkeypatch, tmp_path
):
    monkeypatch.setenv("FABRIC_TEST_RUN", run := uuid.uuid4().hex[:6])
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "test_interrupted.py").write_text(INTERRUPTED)

    def clusters():
        return [
            entry
            for entry in state.entries()
            if entry.spec.name.startswith(f"test-{run}-")
        ]

    command = [
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        f"--rootdir={ROOT}",
        str(tmp_path),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(
            lambda: (tmp_path / "up").exists() or process.poll() is not None,
            "the cluster of a test",
        )
        assert clusters()
        process.send_signal(signal.SIGINT)
        process.wait(GUARD_S)
    assert process.returncode == pytest.ExitCode.INTERRUPTED and not clusters()
