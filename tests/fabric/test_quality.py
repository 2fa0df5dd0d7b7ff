# SPDX-License-Identifier: BSD-3-Clause
"""All of our own programs: warnings, sanitizers, valgrind, clang-tidy, and one rank that dies."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.software import installed
from tests import programs
from tests.fabric import builds
from tests.fabric.builds import MPIS, SOURCES, environment
from tests.fabric.builds import PROGRAMS as ALL
from tests.fabric.quick import QUICK
from tests.guard import GUARD_S

#: Those of MPI; `ports` is none, and has tests of its own, as has the library that profiles.
PROGRAMS = [name for name in ALL if name != "ports"]


def test_every_program_has_a_quick_run():
    assert sorted(QUICK) == PROGRAMS


def build(folder, flags):
    for program in PROGRAMS:
        builds.make("mpich", program, folder / program, flags=flags.split())


@pytest.mark.parametrize("mpi", MPIS)
def test_every_program_is_built_without_a_warning(tmp_path, mpi):
    for program in [*ALL, "profile.so"]:
        builds.make(mpi, program, tmp_path / program)


def run(folder, program, *, before=(), **variables):
    ranks, arguments = QUICK[program]
    command = ["mpirun", "-np", str(ranks), *before, str(folder / program), *arguments]
    return programs.run(command, env=environment("mpich") | variables)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sanitized")
    build(folder, "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all")
    return folder


@pytest.mark.parametrize("program", PROGRAMS)
def test_sanitizers_find_nothing(sanitized, program):
    """AddressSanitizer and UBSan; what the MPI library itself leaks at its end is not ours."""
    done = run(
        sanitized,
        program,
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="halt_on_error=1",
    )
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert "# complete: " in done.stdout


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    build(folder, "-g -O1")
    return folder


@pytest.mark.skipif(
    shutil.which("valgrind") is None,
    reason="valgrind is not installed (ci/requirements/debian.txt)",
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_valgrind_finds_nothing(plain, tmp_path, program):
    """With the suppressions in mpi.supp, for what MPICH and the libraries below it do themselves."""
    suppressions = Path(__file__).with_name("mpi.supp")
    valgrind = [
        "valgrind",
        "-q",
        "--error-exitcode=99",
        "--num-callers=50",
        f"--suppressions={suppressions}",
    ]
    valgrind.append(f"--log-file={tmp_path}/%p.log")
    done = run(plain, program, before=valgrind)
    found = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, found + done.stderr
    assert "# complete: " in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_states_the_method_without_a_launcher(plain, program):
    """Before MPI_Init, which may need one."""
    done = programs.succeed([plain / program, "--help"], env=environment("mpich"))
    assert len(done.stdout.splitlines()) > 5


def test_clang_tidy_finds_nothing():
    """The rules are in checks/fabric/src/.clang-tidy."""
    # The compiler's own headers are not in clang-tidy's wheel; gcc's serve.
    include = programs.run(["gcc", "-print-file-name=include"]).stdout.strip()
    flags = [
        "-std=c11",
        "-isystem",
        str(installed.folder("mpich") / "include"),
        "-isystem",
        include,
    ]
    sources = sorted(SOURCES.rglob("*.c"))
    tool = Path(sys.executable).with_name("clang-tidy")
    programs.succeed([tool, "--quiet", *sources, "--", *flags])


#: What is over before a busy machine has killed a rank measures for so long that it cannot be.
LONG = {"latency_map": ["--passes", "1000", "--samples", "1000"]}


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "placement"])
def test_a_dead_rank_ends_the_run_without_a_last_line(plain, program):
    """One rank is killed in mid-run: the launcher ends the others, and nothing claims to be complete."""
    ranks, _ = QUICK[program]
    command = [
        "mpirun",
        "-np",
        str(ranks),
        str(plain / program),
        *LONG.get(program, ()),
    ]
    pipe = subprocess.PIPE
    # Unbuffered: what is behind the header is read by communicate.
    with subprocess.Popen(
        command, env=environment("mpich"), stdout=pipe, stderr=pipe, bufsize=0
    ) as job:
        # The last line of the header: every rank is past MPI_Init, and measures.
        assert any(line.startswith(b"# columns: ") for line in job.stdout), (
            job.stderr.read()
        )
        os.kill(a_rank(plain / program), signal.SIGKILL)
        output, _ = job.communicate(timeout=GUARD_S)
    assert job.returncode != 0
    assert b"# complete" not in output


def a_rank(program):
    """Return the process id of one rank that runs the program."""
    for process in Path("/proc").glob("[0-9]*/exe"):
        try:
            if process.resolve() == program.resolve():
                return int(process.parent.name)
        except (PermissionError, FileNotFoundError):
            continue
    raise AssertionError(f"{program.name} has ended already")
