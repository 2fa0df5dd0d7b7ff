# SPDX-License-Identifier: BSD-3-Clause
"""Our program `ports`: what it records of a tree, and that a program in it is as it is without it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabric_checks.ports import snapshots as ports
from tests import programs
from tests.conftest import TESTS
from tests.fabric import builds
from tests.fabric.builds import MPIS, SOURCES, environment
from tests.guard import ENDLESS_S, GUARD_S, wait_for
from tests.ports import pcie

GOLDEN = TESTS / "golden" / "ports"
#: Trees of sysfs and procfs as public documents and threads show them, which each names, and what a program
#: changes.
TREES = sorted(path.stem for path in (GOLDEN / "trees").glob("*.json"))
FLAGS = "-std=c11 -O1 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsanitize=address,undefined"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the program, built without an MPI and with sanitizers."""
    path = tmp_path_factory.mktemp("ports") / "ports"
    command = [
        "gcc",
        *FLAGS.split(),
        "-fno-sanitize-recover=all",
        SOURCES / "ports.c",
        "-o",
        path,
    ]
    subprocess.run(command, check=True)
    return path


class Run:
    """A run of the program in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.output = program, folder, folder / "out"
        self.env = os.environ | {"SLURMD_NODENAME": "n1"}

    def line(self, *command, options=()):
        return [
            str(part)
            for part in (
                self.program,
                "--output",
                self.output,
                *options,
                "--",
                *command,
            )
        ]

    def __call__(self, *command, options=(), **more):
        return programs.run(
            self.line(*command, options=options), **{"env": self.env} | more
        )

    @property
    def file(self):
        return self.output / "n1.txt"

    def read(self):
        return ports.parse(self.file.read_text())


@pytest.fixture
def run(program, tmp_path):
    return Run(program, tmp_path)


def grow(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("100,000 times x", "x" * 100_000) + "\n")


def recorded(run, name):
    """Return what the program records of a tree that changes while it runs, without its times."""
    tree = json.loads((GOLDEN / "trees" / f"{name}.json").read_text())
    grow(run.folder / "root", tree["files"])
    grow(run.folder / "after", tree["changed"])
    (run.folder / "after").mkdir(exist_ok=True)
    done = run(
        "cp",
        "-r",
        f"{run.folder}/after/.",
        run.folder / "root",
        options=("--root", run.folder / "root"),
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == ""
    text = re.sub(r"(?<=# uptime_s: )\S+", "100.000000", run.file.read_text(), count=1)
    text = re.sub(r"(?<=# uptime_s: )(?!100\.0)\S+", "120.000000", text)
    text = re.sub(r"(?<=# took_ms: )\S+", "1.000", text)
    # The order within a folder is the file system's; that of lines within a file is kept.
    blocks = (
        block.splitlines(keepends=True)
        for block in re.split(r"(?m)^(?=# )", text)
        if block
    )
    return "".join(
        "".join([head, *sorted(rows, key=lambda row: row.split("\t")[0])])
        for head, *rows in blocks
    )


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_recorded_as_it_is(run, name):
    """FABRIC_TEST_WRITE_GOLDEN=1 writes what the tests of the parser read."""
    text = recorded(run, name)
    if os.environ.get("FABRIC_TEST_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / f"{name}.txt").write_text(text)
    assert text == (GOLDEN / f"{name}.txt").read_text()
    ports.parse(text)


def test_gpus_and_adapters_are_recorded_with_the_bridges_above_them(run):
    root, made = (
        run.folder / "root",
        pcie.host(gpus=[0, 5], adapters=[0, 5], lanes={"0000:68:00.0": 8}),
    )
    links = {
        path: target
        for path, target in made.items()
        if target.startswith("/sys/devices/")
    }
    for path, target in links.items():
        (root / target[1:]).mkdir(parents=True, exist_ok=True)
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).symlink_to(root / target[1:])
    # What leads out of the tree, to no device or nowhere is none.
    elsewhere = {
        "out": "/sys/devices",
        "none": root / "missing",
        "class": root / "sys/class",
    }
    for name, target in elsewhere.items():
        (root / f"sys/class/infiniband/{name}").mkdir()
        (root / f"sys/class/infiniband/{name}/device").symlink_to(target)
    grow(root, {path[1:]: value for path, value in made.items() if path not in links})
    assert run("true", options=("--root", root)).returncode == 0
    expected = ports.parse(pcie.text("n1", made, made))
    assert run.read().before.host == expected.before.host
    assert run.read().before.ports == expected.before.ports
    assert run.file.read_text().count("/device\t") == 4  # two of each snapshot


#: A stand-in for nvidia-smi, in its form; the state of the second link is in a file.
STAND_IN = """#!/bin/sh
case $1 in
nvlink)
    printf 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\\n\\t Link 0: 26.562 GB/s\\n'
    printf '\\t Link 1: %s\\n' "$(cat {link})" ;;
*) printf '0, Completed, Success\\n' ;;
esac
"""


def with_nvidia(run, script):
    """Return the environment of a tree with NVIDIA's driver, and a stand-in for nvidia-smi."""
    grow(run.folder / "root", {"proc/driver/nvidia/version": "590.48.01\n"})
    binary = run.folder / "bin/nvidia-smi"
    binary.parent.mkdir()
    binary.write_text(script)
    binary.chmod(0o755)
    return run.env | {"PATH": f"{binary.parent}:{run.env['PATH']}"}


def test_the_state_of_nvlink_is_recorded_before_and_after(run):
    link = run.folder / "link"
    link.write_text("26.562 GB/s")
    env = with_nvidia(run, STAND_IN.format(link=link))
    options = ("--root", run.folder / "root")
    command = ("sh", "-c", f"echo '<inactive>' > {link}")
    assert run(*command, options=options, env=env).returncode == 0
    before, after = (each.host.nvlink for each in (run.read().before, run.read().after))
    assert before == {
        ("0", "0"): "26.562 GB/s",
        ("0", "1"): "26.562 GB/s",
        ("0", "fabric"): "Completed, Success",
    }
    assert after == before | {("0", "1"): "<inactive>"}


def test_an_nvidia_smi_that_hangs_costs_its_state_alone(run):
    env = with_nvidia(run, f"#!/bin/sh\nexec sleep {ENDLESS_S}\n")
    done = run("echo", "ran", options=("--root", run.folder / "root"), env=env)
    assert done.stdout == "ran\n" and done.returncode == 0
    assert run.read().after.cut is None and run.read().after.host.nvlink == {}


def test_what_the_kernel_logs_meanwhile_is_recorded(run):
    log = run.folder / "root/dev/kmsg"
    xid = "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus."
    grow(run.folder / "root", {"dev/kmsg": "3,1,1,-;NVRM: Xid before\n"})
    lines = f"3,2,2,-;{xid}\\n SUBSYSTEM=pci;Xid\\n6,3,3,-;usb 1-1: new device\\n"
    command = ("sh", "-c", f"printf '{lines}' >> {log}")
    assert run(*command, options=("--root", run.folder / "root")).returncode == 0
    assert run.read().after.host.messages == (xid,)
    assert run.read().before.host.messages == ()


def test_a_kernel_log_that_may_not_be_read_is_an_error(run):
    (run.folder / "root/dev").mkdir(parents=True)
    (run.folder / "root/dev/kmsg").symlink_to("kmsg")  # for root, too
    assert run("true", options=("--root", run.folder / "root")).returncode == 0
    assert run.read().after.host.unread == "E40"


#: What `journalctl -k` prints, and what it is called with.
JOURNAL = """#!/bin/sh
[ "$1" = -kq ] && expr "$4" : '--since=@[0-9]*[.][0-9]*$' > /dev/null || exit 1
echo 'usb 1-1: new device'
echo 'mlx5_core 0000:17:00.0: Link down'
exit {status}
"""


@pytest.mark.parametrize(
    "journal, status, read",
    [("var", 0, True), ("run", 0, True), ("var", 1, False), ("none", 0, False)],
)
def test_without_the_kernel_log_its_journal_is_read(run, journal, status, read):
    """Where it may be; journalctl itself is silent where it may not."""
    log = run.folder / "root/dev/kmsg"
    log.parent.mkdir(parents=True)
    log.symlink_to("kmsg")
    grow(run.folder / "root", {f"{journal}/log/journal/0a/system.journal": ""})
    binary = run.folder / "bin/journalctl"
    binary.parent.mkdir()
    binary.write_text(JOURNAL.format(status=status))
    binary.chmod(0o755)
    env = run.env | {"PATH": f"{binary.parent}:{run.env['PATH']}"}
    assert run("true", options=("--root", run.folder / "root"), env=env).returncode == 0
    found = run.read().after.host
    if read:
        assert found.messages == ("mlx5_core 0000:17:00.0: Link down",)
    assert found.unread == ("" if read else "E40")


def test_this_machine_is_recorded(run):
    assert run("true").returncode == 0
    node = run.read()
    assert node.node == "n1" and node.after.uptime_s > node.before.uptime_s
    lo = node.before.ports["lo"]
    assert lo.up and lo.mtu and lo.stacked
    assert "InSegs" in node.after.host.tcp and "TCPOFOQueue" in node.after.host.tcp


def test_input_output_and_status_are_the_programs(run):
    done = run("sh", "-c", "cat; echo err >&2; exit 7", input="in\n")
    assert done.returncode == 7
    assert done.stdout == "in\n"
    assert done.stderr == "err\n"
    assert run.file.read_text().endswith("# ended: exit 7\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_program_that_dies_of_a_signal(run, number):
    done = run("sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == -number and done.stderr == ""
    assert run.file.read_text().endswith(f"# ended: signal {int(number)}\n")


def test_what_is_inherited_is_inherited(run):
    """Descriptors, as those of PMI, signals that are ignored, environment, folder, affinity, group of
    processes."""
    look = (
        "import os, signal; print(os.read(9, 3), signal.getsignal(signal.SIGHUP), os.environ['ASKED'],"
        " os.getcwd(), sorted(os.sched_getaffinity(0)), os.getpgrp(), sorted(map(int,"
        " os.listdir('/proc/self/fd'))), signal.pthread_sigmask(0, []))"
    )

    def start(line):
        read, write = os.pipe()
        os.write(write, b"pmi")

        def prepare():
            os.dup2(read, 9)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

        asked = {"env": run.env | {"ASKED": "1"}, "cwd": run.folder, "check": True}
        try:
            return programs.run(line, preexec_fn=prepare, pass_fds=[9], **asked).stdout
        finally:
            os.close(read)
            os.close(write)

    assert start(run.line(sys.executable, "-c", look)) == start(
        [sys.executable, "-c", look]
    )
    assert run.file.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR2])
def test_signals_are_passed_on(run, number):
    code = (
        "import signal, sys, time; signal.signal(int(sys.argv[1]), lambda n, _: sys.exit(40 + n)); "
        # Not one long wait: a signal that comes just before the kernel's is seen after it.
        "print('ready', flush=True); [time.sleep(0.1) for _ in range(9000)]"
    )
    with subprocess.Popen(
        run.line(sys.executable, "-c", code, int(number)),
        env=run.env,
        stdout=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout.readline() == "ready\n"
        job.send_signal(number)
        assert job.wait(GUARD_S) == 40 + number
    assert run.read().after is not None


def test_a_recorder_that_is_killed_takes_the_program_with_it(run):
    with subprocess.Popen(
        run.line("sh", "-c", f"echo $$; exec sleep {ENDLESS_S}"),
        env=run.env,
        stdout=subprocess.PIPE,
    ) as job:
        child = int(job.stdout.readline())
        job.kill()
    wait_for(lambda: "Z (" in status(child), "the program lives on")
    assert run.read().after is None


def status(process):
    try:
        return Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "Z ("  # gone altogether


def test_only_the_first_of_a_node_records(run):
    for _ in range(3):
        assert run("true").returncode == 0
    assert run.file.read_text().count("# before") == 1
    shutil.rmtree(run.output)
    run.env["SLURM_LOCALID"] = "1"
    assert run("true").returncode == 0
    assert not run.output.exists()


def test_the_name_of_a_node_is_no_path(run):
    run.env["SLURMD_NODENAME"] = "../../x\n/é y"
    assert run("true").returncode == 0
    (path,) = run.output.iterdir()
    assert re.fullmatch(r"[\w.-]+\.txt", path.name)
    assert ports.parse(path.read_text()).before


@pytest.mark.parametrize("folder", ["file/out", "/proc/none", "x" * 5000])
def test_what_cannot_be_written_changes_nothing(run, folder):
    (run.folder / "file").write_text("")
    run.output = run.folder / folder
    done = run("sh", "-c", "echo out; exit 3")
    assert done.returncode == 3
    assert done.stdout == "out\n"
    assert done.stderr == ""


def test_a_full_disk_changes_nothing(run):
    """As far as a limit of a file's length is one."""
    done = run("sh", "-c", "trap - XFSZ; exit 3", preexec_fn=limit_files)
    assert done.returncode == 3
    with pytest.raises(ports.OutputError):
        run.read()


def limit_files():
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def test_a_file_that_blocks_is_left_out(run):
    """A named pipe is opened without waiting, and is no file."""
    folder = run.folder / "root/proc"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "loadavg")
    begin = time.monotonic()
    assert run("true", options=("--root", run.folder / "root")).returncode == 0
    assert time.monotonic() - begin < GUARD_S / 2
    assert run.read().after.host.load is None


def test_more_than_a_megabyte_is_cut_and_said(run):
    grow(
        run.folder / "root",
        {f"sys/class/net/e{i}/address": "x" * 10_000 for i in range(200)},
    )
    assert run("true", options=("--root", run.folder / "root")).returncode == 0
    node = run.read()
    assert node.before.cut == node.after.cut == "more than 1 MiB"


@pytest.mark.parametrize(
    "arguments, status, text",
    [
        ([], 2, "--output FOLDER and, behind --, a program are needed"),
        (["--output"], 2, "an option has no value"),
        (["--more", "x"], 2, "the options are"),
        (
            ["--output", "{}", "--", "no-such-program"],
            127,
            "cannot start no-such-program: No such file",
        ),
        (["--output", "{}", "--", "/etc"], 126, "cannot start /etc: Permission denied"),
    ],
)
def test_a_wrong_command_line_is_one_error(program, tmp_path, arguments, status, text):
    line = [
        program,
        *(argument.replace("{}", str(tmp_path / "out")) for argument in arguments),
    ]
    done = programs.run(line)
    assert done.returncode == status and done.stdout == ""
    assert text in done.stderr
    assert done.stderr.startswith("ports: ")
    assert done.stderr.count("\n") == 1


def test_help_and_version(program):
    done = programs.run([program, "--help"])
    assert done.returncode == 0 and "--output FOLDER" in done.stdout
    assert programs.run([program, "--version"]).stdout == "ports 1\n"


@pytest.mark.parametrize("mpi", MPIS)
def test_every_mpi_starts_its_programs_through_it(tmp_path, mpi):
    """Built by the MPI's own wrapper it loads no MPI library, and the ranks of a program in it find each
    other."""
    for name in ("ports", "placement"):
        builds.make(mpi, name, tmp_path / name)
    assert "mpi" not in programs.run(["ldd", tmp_path / "ports"]).stdout
    recorder = [tmp_path / "ports", "--output", tmp_path / "out", "--"]
    done = programs.succeed(
        ["mpirun", "-np", "2", *recorder, tmp_path / "placement"], env=environment(mpi)
    )
    assert "# complete: 2 rows" in done.stdout
    (path,) = (tmp_path / "out").iterdir()
    assert ports.parse(path.read_text()).after is not None
