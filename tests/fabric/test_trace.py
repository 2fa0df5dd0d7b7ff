# SPDX-License-Identifier: BSD-3-Clause
"""The trace of the library that profiles: exactly the calls that a program knows to have made, on every
MPI."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_profile import trace
from tests.breakages import refused
from tests.fabric import test_profile

RANKS = 4
build, mpi, mpich = test_profile.build, test_profile.mpi, test_profile.mpich


def traced(mpi, *arguments, **variables):
    """Run the program; return its folder of traces and what became of it."""
    folder = mpi.folder / "trace"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    given = [
        f"{name}={value}"
        for name, value in {"FABRIC_TRACE": folder, **variables}.items()
    ]
    done = mpi.run(RANKS, "env", *given, mpi.build("traced_calls"), *arguments)
    return folder, done


def read(folder, rank):
    with (folder / f"rank-{rank}.trace").open() as lines:
        return trace.parse(lines)


def actions(folder, rank):
    """Return the actions without computation, each with single blanks."""
    lines = [
        line.split()
        for line in (folder / f"rank-{rank}.trace").read_text().splitlines()
    ]
    return [
        " ".join(words)
        for words in lines
        if words and words[0] != "#" and words[1] != "compute"
    ]


def test_a_trace_has_exactly_the_calls_that_were_made(mpi):
    folder, done = traced(mpi)
    assert done.returncode == 0, done.stdout + done.stderr
    tags = {}
    for rank in range(RANKS):
        due = (mpi.folder / f"told.{rank}").read_text().splitlines()
        found = actions(folder, rank)
        assert len(found) == len(due)
        for number, (line, expected) in enumerate(zip(found, due, strict=True)):
            for name in ("half", "twin"):
                if name in expected:
                    tag = line.split()[3]
                    # Of the halves each has its own.
                    assert (
                        tags.setdefault(
                            name if name == "twin" else f"half {rank % 2}", tag
                        )
                        == tag
                    )
                    expected = expected.replace(name, tag)
            assert line == expected, f"rank {rank}, action {number}"
        whole = read(folder, rank)
        assert whole.rank == rank
        assert whole.ranks == RANKS
        assert whole.flops_per_s == 10**9
        assert 0 < whole.compute_s < 10
        assert sum(whole.actions.values()) == len(found) + whole.actions["compute"]
    assert len(set(tags.values())) == 3 and all(
        int(tag) >= 1 << 30 for tag in tags.values()
    )


@pytest.mark.parametrize(
    "what, cause",
    [
        ("Iallreduce", "stopped: 'MPI_Iallreduce cannot be replayed'"),
        ("half", "stopped: 'MPI_Allreduce of 2 of the 4 ranks cannot be replayed'"),
        ("Ssend", "stopped: 'MPI_Ssend cannot be replayed'"),
        ("thread", "stopped: 'calls of several threads of a rank cannot be replayed'"),
        ("Cancel", "stopped: 'MPI_Cancel cannot be replayed'"),
        ("unfinished", "cut off: its last line is missing"),
    ],
)
def test_what_cannot_be_replayed_ends_the_trace_and_not_the_program(mpich, what, cause):
    folder, done = traced(mpich, what)
    assert done.returncode == 0 or what == "unfinished", done.stdout + done.stderr
    with pytest.raises(OutputError) as caught:
        read(folder, 0)
    assert cause in str(caught.value)


def test_a_trace_is_bounded(mpich):
    folder, _ = traced(mpich, "many", FABRIC_TRACE_BYTES=RANKS * 500)
    for rank in range(RANKS):
        with refused("the trace was cut off: 'the limit of 500 bytes is reached'"):
            read(folder, rank)
        assert (folder / f"rank-{rank}.trace").stat().st_size < 700
    folder, _ = traced(mpich, "many")
    assert read(folder, 3).actions["barrier"] == 100


def test_a_folder_that_is_not_there_fails_nothing(mpich):
    _, done = traced(mpich, "many", FABRIC_TRACE="missing")
    assert done.returncode == 0
    assert (
        "profile: missing/rank-0.trace: No such file or directory; no trace is written"
        in done.stderr
    )
