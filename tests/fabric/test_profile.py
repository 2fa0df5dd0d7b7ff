# SPDX-License-Identifier: BSD-3-Clause
"""The library that profiles: its counts and bytes are exactly those of a program that knows what it did."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fabric_checks.software import installed
from fabric_profile import profile
from tests import programs
from tests.fabric import builds
from tests.fabric.builds import MPIS, environment

HERE = Path(__file__).parent
RANKS = 4
#: Functions that are handed a communicator, a request or a window, and are not profiled: they ask, name, or
#: set, and no rank waits for another in them; or files, ports and processes, whose traffic is of another
#: kind; or one-sided and partitioned transfers, which the profile leaves out and says so.
LEFT_ALONE = re.compile(
    r"(Comm|Win|Request|Type|Errhandler|File|T|Session|Status|Attr|Keyval|Info|Group)_\w+$"
    r"|R?([Pp]ut|[Gg]et|[Aa]ccumulate|[Gg]et_accumulate)|Fetch_and_op|Compare_and_swap"
    r"|P(send|recv)_init|Pready(_range|_list)?|Parrived"
    r"|Abort|Pack\w*|Unpack\w*|Address|Errhandler\w*|Cancel|Grequest\w*|Topo_test|Cart\w*|Graph\w*|Dist_graph_neighbors\w*"
    r"|Intercomm_create_from_groups|Message_toint|DUP_FN|Buffer\w*"
)


class Profiled:
    """One MPI with the library, and programs to try it on."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        # Its component of UCX complains of itself, and is slow where ranks share cores.
        self.env = environment(name) | {
            "OMPI_MCA_osc": "^ucx",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        self.library = folder / "profile.so"
        builds.make(name, "profile.so", self.library)

    def do(self, *command):
        done = programs.succeed(command, env=self.env)
        return done.stdout

    def build(self, source, *flags):
        path = self.folder / f"{source}{''.join(flags)}"
        builds.compile_alone(
            self.name, [HERE / f"{source}.c"], ["-O0", *flags, "-pthread"], path
        )
        return path

    def run(
        self, ranks, program, *arguments, file="profile.txt", before=(), preload=True
    ):
        """Run a program in the folder, with the library before its MPI; return what became of it."""
        variables = (
            [f"LD_PRELOAD={':'.join(map(str, [self.library, *before]))}"]
            if preload
            else []
        )
        variables += [f"FABRIC_PROFILE={file}"] if file else []
        command = ["mpirun", "-np", str(ranks), "env", *variables, program, *arguments]
        return programs.run(command, env=self.env, cwd=self.folder)

    def profile(self, ranks, program, *arguments, **options):
        """Run a program that ends well; return its profile and what it printed."""
        done = self.run(ranks, program, *arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return profile.parse(
            (self.folder / "profile.txt").read_text(), ranks
        ), done.stdout


@cache
def profiled(name, base):
    """Return the library built by an MPI, once for all modules."""
    folder = base / f"profiled-{name}"
    folder.mkdir()
    return Profiled(name, folder)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return lambda name: profiled(name, tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, build):
    return build(request.param)


@pytest.fixture(scope="module")
def mpich(build):
    """For what is the same with every MPI."""
    return build("mpich")


def told(folder):
    """Return counts and bytes of the calls, and messages and bytes by partner, as the program says them."""
    calls, partners = Counter(), Counter()
    for rank in range(RANKS):
        for line in (folder / f"told.{rank}").read_text().splitlines():
            kind, of, *rest = line.split()
            if kind == "expect":
                name, comm_size, group, size, count, moved = rest
                key = (
                    int(of),
                    name,
                    int(comm_size),
                    group == "inter",
                    int(size).bit_length(),
                )
                calls[(*key, "count")] += int(count)
                calls[(*key, "bytes")] += int(moved)
            else:
                partners[int(of), int(rest[0]), "messages"] += int(rest[1])
                partners[int(of), int(rest[0]), "bytes"] += int(rest[2])
    return calls, partners


def found(of):
    """Return the same as the library counted it."""
    calls, partners = Counter(), Counter()
    for number, rank in enumerate(of.ranks):
        assert rank.not_kept == 0
        for each in rank.calls:
            key = (number, each.call, each.comm_size, each.is_inter, each.power)
            assert (*key, "count") not in calls, "a key twice"
            calls[(*key, "count")], calls[(*key, "bytes")] = each.count, each.bytes
        for to, (messages, moved) in rank.partners.items():
            partners[number, to, "messages"], partners[number, to, "bytes"] = (
                messages,
                moved,
            )
    return calls, partners


@pytest.mark.parametrize("flags", [(), ("-DLARGE",)], ids=["int", "MPI_Count"])
def test_counts_and_bytes_are_exact(mpi, flags):
    if flags and mpi.name == "openmpi":
        pytest.skip("Open MPI 5.0 has no functions that take MPI_Count")
    of, _ = mpi.profile(RANKS, mpi.build("every_call", *flags), "told")
    expected, got = told(mpi.folder), found(of)
    for index in (0, 1):
        assert {k: v for k, v in got[index].items() if v} == {
            k: v for k, v in expected[index].items() if v
        }
    # The program makes every call that is profiled: what it never makes would be exact for nothing.
    names = {key[1] for key in got[0]}
    broken = {"Scatter_start"} if mpi.name == "impi" else set()
    exported = mpi.do("nm", "-D", "--defined-only", mpi.library)
    wrapped = {
        name.removesuffix("_c") for name in re.findall(r" T MPI_(\w+)", exported)
    }
    special = {"Init", "Init_thread", "Finalize", "Pcontrol", "Start", "Startall"}
    special |= {"Comm_free", "Comm_disconnect", "Request_free"}
    assert wrapped - names == special
    starts = {
        f"{name.removesuffix('_init')}_start"
        for name in wrapped
        if name.endswith("_init")
    }
    assert (
        names == (wrapped - special) | starts
        or names | broken == (wrapped - special) | starts
    )
    assert names - broken <= set(profile.KINDS)


def test_what_a_library_has_is_profiled_or_left_alone(mpi):
    """A function of the MPI's header that moves data, and that nobody thought of, is found here."""
    include = installed.folder(mpi.name) / "include"
    text = "".join(
        path.read_text(errors="replace")
        for path in (include / "mpi.h", include / "mpi_proto.h")
        if path.exists()
    )
    handed = re.findall(
        r"\bint\s+MPI_(\w+)\s*\(([^)]*\b(?:MPI_Comm|MPI_Request|MPI_Win|MPI_Message)\b[^)]*)\)",
        text,
    )
    assert len(handed) > 150
    wrapped = set(
        re.findall(r" T MPI_(\w+)", mpi.do("nm", "-D", "--defined-only", mpi.library))
    )
    missing = sorted({name for name, _ in handed} - wrapped)
    assert [
        name for name in missing if not LEFT_ALONE.fullmatch(name.removesuffix("_c"))
    ] == []


def test_threads_lose_nothing(mpi):
    of, _ = mpi.profile(2, mpi.build("small_calls"), "threads")
    for number, rank in enumerate(of.ranks):
        (calls,) = [each for each in rank.calls if each.call == "Sendrecv"]
        assert calls.count == 4000
        assert calls.bytes == 32000
        assert calls.power == 4
        assert rank.partners == {1 - number: (4000, 32000)}


def test_fortran_is_counted(mpi):
    """By functions as a Fortran compiler calls them."""
    if mpi.name != "impi":
        pytest.skip("of the wheels only Intel MPI's has Fortran")
    of, _ = mpi.profile(
        2, mpi.build("small_calls", "-DWITH_FORTRAN", "-lmpifort"), "fortran"
    )
    assert [(each.call, each.count, each.bytes) for each in of.ranks[0].calls] == [
        ("Bcast", 3, 60)
    ]
    assert [(each.call, each.count, each.bytes) for each in of.ranks[1].calls] == [
        ("Bcast", 3, 0)
    ]


def test_a_file_that_cannot_be_written_fails_nothing(mpich):
    for file, why in (
        ("missing/profile.txt", "No such file or directory; no profile is written"),
        ("/dev/full", "No space left on device; the profile is incomplete"),
    ):
        done = mpich.run(2, mpich.build("small_calls"), "threads", file=file)
        assert done.returncode == 0 and f"profile: {file}: {why}" in done.stderr


def test_another_tool_behind_it_sees_the_calls_too(mpich):
    tool = mpich.folder / "tool.so"
    mpich.do("mpicc", "-shared", "-fPIC", HERE / "tool_behind.c", "-o", tool)
    of, printed = mpich.profile(RANKS, mpich.build("every_call"), "told", before=[tool])
    assert printed.count("another tool counted ") == RANKS
    # One of them is between MPI_Pcontrol(0) and MPI_Pcontrol(1), where the profile pauses.
    assert printed.count("counted 2 barriers") == RANKS
    assert [
        sum(each.count for each in rank.calls if each.call == "Barrier")
        for rank in of.ranks
    ] == [1] * RANKS
