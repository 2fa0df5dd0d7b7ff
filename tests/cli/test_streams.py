# SPDX-License-Identifier: BSD-3-Clause
"""The command where its streams are closed, full, read in part or ASCII, and where it is interrupted."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import programs
from tests.guard import ENDLESS_S, GUARD_S
from tests.references.records import record, write

COMMAND = [sys.executable, "-m", "fabric_checks"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def records(tmp_path):
    """Return the folder of so many records that no pipe holds what is printed of them."""
    many = [record(day, 1.3, mpi=f"MPICH µ {'x' * 500}") for day in range(400)]
    write(tmp_path / "few", [record(0, environ="µ", metric="latency_0B", size_B=0)])
    return write(tmp_path / "records", many)


def shell(line, **options):
    """Run a line of bash in which $fc is the command; return the status of the first of a pipe, and both
    streams."""
    line = f"fc='{' '.join(COMMAND)}'; {line}; exit ${{PIPESTATUS[0]}}"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")} | options.pop("env", {})
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, env=env, timeout=GUARD_S, **options
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "show few",
        "show few --json",
        "compare a=few b=few",
        "report few",
    ],
)
@pytest.mark.parametrize(
    "where, why",
    [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")],
    ids=["closed", "full"],
)
def test_a_standard_output_that_cannot_be_written_is_an_error(
    records, tmp_path, arguments, where, why
):
    status, _, err = shell(f"$fc {arguments} {where}", cwd=tmp_path)
    assert status == 1
    assert err == f"error: standard output: {why}\n"
    if arguments == "report few":
        assert (tmp_path / "report.html").read_text().rstrip().endswith("</html>")


def test_nothing_is_printed_into_a_file_that_took_the_place_of_a_closed_stream(
    records, tmp_path
):
    status, out, _ = shell("$fc report few -o a.html 2>&- <&-", cwd=tmp_path)
    assert status == 0 and out.startswith("a.html: 1 machine,")
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "arguments, status",
    [
        ("show records --json", 0),
        ("--help", 0),
        ("compare a=records b=few --json --fail-on missing", 3),
    ],
)
def test_a_reader_that_has_seen_enough_changes_nothing(
    records, tmp_path, arguments, status
):
    ended, _, err = shell(f"$fc {arguments} | head -c 1", cwd=tmp_path)
    assert ended == status
    assert all(line.startswith(("error: ", "--fail-on: ")) for line in err.splitlines())
    assert len(err.splitlines()) < 2


@pytest.mark.parametrize(
    "env",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}],
    ids=["io", "C"],
)
@pytest.mark.parametrize("arguments", ["show few", "compare a=few b=few"])
def test_ascii_will_do(records, tmp_path, arguments, env):
    env = env | {"PYTHONCOERCECLOCALE": "0"}
    status, out, err = shell(f"$fc {arguments}", cwd=tmp_path, env=env)
    assert (
        (status, err) == (0, "") and out.isascii() and "latency" in out and "1.3" in out
    )


def test_a_full_disk_keeps_the_old_report(records, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    command = [*COMMAND, "report", str(tmp_path / "few"), "-o", str(path)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = programs.run(command, env=env, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr == f"error: {path}: File too large; it is unchanged\n"
    assert path.read_text() == "old"
    assert {each.name for each in tmp_path.iterdir()} == {"a.html", "few", "records"}


def test_an_interrupt_is_one_line_and_ends_what_threads_wait_for(tmp_path):
    """Simulations that do not end, as for `twin table`; each tells its process."""
    script = f"""
import time
from types import SimpleNamespace
from fabric_checks.cli import main
from fabric_twins import processes, published_table

def simulated(twin, bounds=None):
    time.sleep(0 if twin.name == "0" else 1)  # until the first was ended
    line = ["sh", "-c", 'echo $$ > "$0" && exec sleep {ENDLESS_S}', f"{tmp_path}/{{twin.name}}"]
    processes.run(line, {{"PATH": "/usr/bin:/bin"}}, "/", {ENDLESS_S}, twin.name)
    raise SystemExit("a simulation that was killed came to its end")

published_table.simulated = simulated
published_table.shipped = lambda: [SimpleNamespace(name=str(number)) for number in range(64)]
processes.count = lambda: 4
main.main()
"""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, "twin", "table"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )

    def begun():
        return [
            text.strip()
            for path in tmp_path.iterdir()
            if (text := path.read_text()).endswith("\n")
        ]

    while not begun():
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GUARD_S)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "error: interrupted"
    assert not [number for number in begun() if Path(f"/proc/{number}").exists()]
