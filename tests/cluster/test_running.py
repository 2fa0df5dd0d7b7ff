# SPDX-License-Identifier: BSD-3-Clause
"""A cluster in use: Slurm's own view of it, jobs, accounting, links, and parts that die."""

import re
import subprocess
import sys
import time

import pytest

from tests.cluster.conftest import CI
from tests.guard import ENDLESS_S, wait_for


def nodes(cluster):
    return dict(
        line.split()
        for line in cluster.on("head", "sinfo", "-h", "-N", "-o", "%N %T").splitlines()
    )


def test_accounting_knows_the_job(four):
    script = "srun -N3 -J known sh -c 'exit 3'"
    done = four.tried("head", "bash", "-c", script)
    assert done.returncode == 3
    query = [
        "sacct",
        "-X",
        "-n",
        "-P",
        "--name",
        "known",
        "-o",
        "State,ExitCode,NodeList,NNodes",
    ]
    row = wait_for(lambda: four.on("head", *query).strip(), "sacct shows no job")
    assert row == "FAILED|3:0|n[1-3]|3"


def test_a_host_shows_its_own_processes_interfaces_and_memory(four):
    program = f"sleep {ENDLESS_S}.1"
    job = four.sh(f"sbatch --parsable -w n2 -o /dev/null --wrap '{program}'").strip()
    wait_for(
        lambda: program in four.on("n2", "ps", "-e", "-o", "args"),
        "no process of the job on n2",
    )
    assert program not in four.on("n3", "ps", "-e", "-o", "args")
    four.on("head", "scancel", job)
    assert sorted(four.on("n2", "ls", "/sys/class/net").split()) == ["eth0", "lo"]
    assert "10.213.0.3/16" in four.on("n2", "ip", "-brief", "address", "show", "eth0")
    four.on("n2", "touch", "/dev/shm/mine")
    assert "mine" in four.on("n2", "ls", "/dev/shm")
    assert four.on("n3", "ls", "/dev/shm") == ""


def test_the_status_of_a_command_is_passed_on(four):
    assert four.tried("n1", "sh", "-c", "exit 7").returncode == 7
    assert four.tried("n1", "sh", "-c", "kill -TERM $$").returncode == 128 + 15
    done = four.tried("n1", "no-such-command")
    assert done.returncode == 127
    assert "cannot run no-such-command: No such file" in done.stderr


@pytest.mark.parametrize(
    "arguments, says",
    [
        (
            ("exec", "n9", "--", "true"),
            "no host is called 'n9'; there are head and n1 to n4",
        ),
        (
            ("kill", "n9"),
            "nothing is called 'n9'; there are n1 to n4 and slurmctld, slurmdbd",
        ),
        (("start", "n2"), "n2 and its slurmd are running already"),
    ],
)
def test_what_cannot_be_done_is_one_line(four, arguments, says):
    done = four.call(*arguments)
    assert done.returncode == 1
    assert done.stderr == f"error: {says}\n"


def test_a_command_on_a_host_ends_with_the_one_who_started_it(four):
    program = ["sleep", f"{ENDLESS_S}.2"]
    line = [CI / "cluster", "exec", "n1", "--name", four.name, "--", *program]
    command = subprocess.Popen(line)

    def sleeps():
        return " ".join(program) in four.on("n1", "ps", "-e", "-o", "args")

    wait_for(sleeps, "no process on n1")
    command.kill()
    command.wait()
    wait_for(lambda: not sleeps(), "the command is still there")


def test_the_command_knows_its_cluster_on_the_head_too(four):
    script = f"{CI / 'cluster'} status | head -n 1; {CI / 'cluster'} down"
    done = four.tried("head", "bash", "-c", script)
    assert done.stdout.startswith(f"{four.name}: 4 nodes, ")
    assert done.returncode == 1
    assert (
        done.stderr
        == "error: a cluster cannot be ended from within; call ci/cluster down outside of it\n"
    )


STREAM = """
import socket, sys, time
if sys.argv[1] == "receive":
    server = socket.create_server(("", 5001))
    print("listening", flush=True)
    connection, _ = server.accept()
    received, begin = 0, None
    while part := connection.recv(1 << 20):
        begin = begin or time.monotonic()
        received += len(part)
    print(received / (time.monotonic() - begin) / 1e6)
else:
    connection = socket.create_connection((sys.argv[1], 5001))
    end, block = time.monotonic() + 1, bytes(1 << 16)
    while time.monotonic() < end:
        connection.sendall(block)
"""


def bandwidth(cluster, sender, receiver):
    """Return the MB/s of one TCP stream of a second."""
    python = [sys.executable, "-c", STREAM]
    line = cluster.line_on(receiver, *python, "receive")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout.readline() == "listening\n"
        cluster.on(sender, *python, receiver)
        return float(receiving.stdout.readline())


#: The words of the status for a link of 100 Mbit/s in both directions, or in one.
SHAPED = {
    "both": ("n2=100mbit", "link of 100mbit"),
    "send": ("n2.send=100mbit", "sends at 100mbit, receives at none"),
    "receive": ("n2.receive=100mbit", "sends at none, receives at 100mbit"),
}


@pytest.mark.alone
@pytest.mark.parametrize("side", SHAPED)
def test_a_shaped_link_is_slow_in_its_directions_and_no_other_is(
    four, report_table, side
):
    shape, words = SHAPED[side]
    four("shape", shape)
    rates = {
        pair: bandwidth(four, *pair)
        for pair in (("n2", "n1"), ("n1", "n2"), ("n1", "n3"))
    }
    assert f"n2: slurmd runs, {words}" in four("status")
    four("shape", "n2=none")
    rates["n1", "n2", "again without"] = bandwidth(four, "n1", "n2")
    rows = [f"{' '.join(pair)}: {rate:.1f} MB/s" for pair, rate in rates.items()]
    report_table(f"one TCP stream, {shape}", rows)
    sent, received, *others = rates.values()
    for rate, of in ((sent, "send"), (received, "receive")):
        if side in ("both", of):
            assert rate < 1.1 * 12.5, "the limit is 12.5 MB/s"
        else:
            others.append(rate)
    assert min(others) > 37.5


def kernel_delays(cluster):
    return cluster.call("shape", "n2.send=none,delay=1us").returncode == 0


@pytest.mark.alone
def test_packets_are_delayed_or_the_kernel_is_said_not_to(four):
    """A ping from n1 waits for the answers of n2."""
    if not kernel_delays(four):
        refused = four.call("shape", "n2.send=none,delay=20ms")
        assert refused.returncode == 1 and "it has no sch_netem" in refused.stderr
        assert "n2: slurmd runs\n" in four("status"), "what is refused changes nothing"
        pytest.skip("this kernel has no sch_netem")
    four("shape", "n2.send=none,delay=20ms")
    begin = time.monotonic()
    four.on(
        "n1",
        sys.executable,
        "-c",
        "import socket; socket.create_connection(('n2', 6818), 10)",
    )
    took = time.monotonic() - begin
    four("shape", "n2=none")
    assert took > 0.02


def test_a_host_that_loses_its_power_is_noticed_and_comes_back(four):
    job = four.sh(
        f"sbatch --parsable -N4 -o /dev/null --wrap 'srun sleep {ENDLESS_S}'"
    ).strip()
    # On all nodes: srun could not start its step without n3, and the job would fail by that.
    task = ("pgrep", "-x", "sleep")
    for node in nodes(four):
        wait_for(
            lambda node=node: four.tried(node, *task).returncode == 0,
            f"no task on {node}",
        )
    four("kill", "n3")
    assert "n3: IS DOWN" in four("status")
    assert (
        "n3 is not running; `ci/cluster start n3` boots it"
        in four.call("kill", "n3").stderr
    )
    wait_for(lambda: nodes(four)["n3"].startswith("down"), "n3 is not down")
    query = ["sacct", "-X", "-n", "-P", "-j", job, "-o", "State"]
    wait_for(
        lambda: four.on("head", *query).strip() == "NODE_FAIL", "the job did not fail"
    )
    four("start", "n3")
    wait_for(lambda: set(nodes(four).values()) == {"idle"}, "not all nodes are idle")
    assert four.on("head", "srun", "-w", "n3", "hostname") == "n3\n"


def test_a_slurmd_that_dies_leaves_its_host(four):
    four.on("n2", "pkill", "-KILL", "slurmd")
    wait_for(lambda: "n2: slurmd IS DEAD" in four("status"), "slurmd still runs")
    four("start", "n2")
    wait_for(lambda: set(nodes(four).values()) == {"idle"}, "not all nodes are idle")
    assert four.on("head", "srun", "-w", "n2", "hostname") == "n2\n"


@pytest.mark.parametrize("what", ["slurmctld", "slurmdbd"])
def test_a_daemon_of_the_head_dies_and_comes_back(four, what):
    if what == "slurmctld":
        # When killed it forgets what it has not saved yet, and takes finished jobs for running ones.
        four.on("head", "srun", "-N4", "true")
        # Each time it saves, the file is another one.
        saved = four.entry.folder / "state/job_state"
        before = saved.stat().st_ino if saved.exists() else None
        wait_for(
            lambda: saved.exists() and saved.stat().st_ino != before,
            "slurmctld has not saved its state",
        )
    four("kill", what)
    assert re.search(f"{what} IS DEAD", four("status"))
    four("start", what)
    assert re.search(f"{what} runs", four("status"))
    wait_for(lambda: set(nodes(four).values()) == {"idle"}, "not all nodes are idle")
    assert len(four.on("head", "srun", "-N4", "hostname").split()) == 4


def test_a_cluster_of_more_cores_and_without_accounting(four, cluster):
    said = cluster(
        "up", "--nodes", "2", "--cores", "6", "--rate", "1gbit", "--without-accounting"
    )
    assert "2 nodes of 6 cores, without accounting, up in" in said
    assert len(cluster.on("head", "srun", "-n12", "hostname").split()) == 12
    no_such = cluster.call("kill", "slurmdbd")
    assert (
        no_such.stderr
        == "error: this cluster has no slurmdbd: it was started with --without-accounting\n"
    )
