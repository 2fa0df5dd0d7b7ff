# SPDX-License-Identifier: BSD-3-Clause
"""What launchers print when a program could not start, or did not end well."""

from pathlib import Path

import pytest

from fabric_checks.parsers import launch_errors

#: As Slurm 22.05 and MPICH 5.0.2 print it; the request is cut to a part.
CUT = """\
slurmstepd-n2: error: mpi/pmi2: value not properly terminated in client request
slurmstepd-n2: error: mpi/pmi2: request not begin with 'cmd='
slurmstepd-n2: error: mpi/pmi2: full request is: 333333333333333333333333333333333333333333333333333

slurmstepd-n2: error: mpi/pmi2: invalid client request
srun: error: n4: task 1: Exited with exit code 15
"""
FAREWELL = "srun: error: n4: task 1: Exited with exit code 15\n"


def texts_of(name):
    """Return source, what is expected, and text of each block of a file."""
    for block in Path(__file__).with_name(name).read_text().split("\n## ")[1:]:
        head, _, text = block.partition("\n")
        source, _, expected = head.partition(" -> ")
        yield source, expected, text


def public_texts():
    """Return cause, nodes and text of each excerpt in ``launch_errors.txt``."""
    for source, expected, text in texts_of("launch_errors.txt"):
        cause, _, nodes = expected.partition(" | ")
        yield pytest.param(cause, nodes, text, id=source)


@pytest.mark.parametrize("cause, nodes, text", list(public_texts()))
def test_a_public_text_gives_cause_nodes_and_remedy(cause, nodes, text):
    message = launch_errors.known(text) or launch_errors.known(
        text, launch_errors.ENDINGS
    )
    assert message.startswith(cause)
    found, _, remedy = message[len(cause) :].partition("; ")
    assert (f" {nodes})" in found) if nodes else "(node" not in found
    assert remedy and "not named" not in message
    shown = message.rpartition("; it printed ")[2].strip("'\"").split(" ... ")
    assert all(part in text for part in shown) and max(map(len, shown)) > 4


@pytest.mark.parametrize(
    ("source", "expected", "text"), list(texts_of("provoked_launch_errors.txt"))
)
def test_what_was_provoked_is_told_by_its_cause(source, expected, text):
    """The node stands there where the launcher tells which one it was."""
    err, _, out = text.partition("\n-- standard output\n")
    message = launch_errors.explained("it ended", {"err": err, "out": out})
    assert message.startswith(expected)
    assert message.endswith(" (it ended)") or message.startswith("it ended; ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[1,1]<stderr>:it is cut\n[1,1]<stderr>:  local peers\n"
            '[1,1]<stderr>:  --> Returned "Bad parameter" (-5) instead of "Success" (0)\n',
            "Open MPI could not start: local peers gave",
        ),
        (
            "[1,0][n1:unknown]<stderr>: as it could not\n[1,0][n1:unknown]<stderr>: access an"
            " executable:\n[1,0][n1:unknown]<stderr>: \n[1,0][n1:unknown]<stderr>:    Executable: ./a\n",
            "the program ./a is missing",
        ),
        (
            "[Mon Nov 30 11:55:17 2026]<stderr>: [prterun-n1-26518@1,1]<stderr>: ERROR: no in.lj\n"
            "Abort is in progress...hit ctrl-c again to forcibly terminate\n",
            "it failed; the first error in err is 'ERROR: no in.lj'",
        ),
        (
            "Abort is in progress...hit ctrl-c again to forcibly terminate\n",
            "it failed; the last line of err is",
        ),
        (
            "n7.site: rank 10 died from signal 9\n"
            "forrtl: error (78): process killed (SIGTERM)\n",
            "task 10 on n7.site was killed first",
        ),
        (
            "Traceback (most recent call last):\nTraceback (most recent call last):\n"
            '  File "a.py", line 8\n  File "a.py", line 8\nImportError: No module x\n',
            "it failed; the first error in err is 'ImportError: No module x'",
        ),
        (
            "[cli_71]: aborting job:\nFatal error in PMPI_Init_thread:\nOther MPI error\n",
            "it failed; the first error in err is 'Fatal error in PMPI_Init_thread:'",
        ),
        (
            "n128: Test NCCL failure common.cu:1204 'unhandled cuda error (run with"
            " NCCL_DEBUG=INFO for details) / '\n .. n128 pid 7: Test failure common.cu:915\n",
            'it failed; the first error in err is "n128: Test NCCL failure common.cu:1204',
        ),
        (
            "srun: error: spank: x11.so: Plugin file not found\nsolver: no table: failed\n",
            "it failed; the first error in err is 'solver: no table: failed'",
        ),
        (
            "n1:12:18 [0] transport/net_ib.cc:817 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<38560>"
            " with error 12, opcode 0, len 0, vendor err 129\n",
            "n1 had no answer from 10.0.0.2 over an adapter",
        ),
        (
            "a\nsrun: error: n2: task 1: Exited with exit code 3\n"
            "srun: error: n1: task 0: Exited with exit code 255\n",
            "it failed; the last line of err is 'a'; task 1 on n2 ended first, with exit"
            " status 3",
        ),
    ],
)
def test_labels_and_effects_do_not_hide_what_came_first(text, message):
    assert launch_errors.explained("it failed", {"err": text}).startswith(message)


BUS = "[n2:00356] Signal: Bus error (7)\n[n2:00356] Signal code: %s\n[n2:00356] Failing at address: 0x164\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            BUS % "Non-existant physical address (2)",
            "a process used memory that has nothing behind it",
        ),
        (
            BUS % "Invalid address alignment (1)",
            "the program crashed: Bus error (node n2)",
        ),
        (BUS % " (-6)", "the program crashed: Bus error (node n2)"),
        (
            "[n2:00356:0] Caught signal 7 (Bus error: nonexistent physical address)\n",
            "a process used memory that has nothing behind it",
        ),
        ("srun: error: n2: task 1: Bus error\n", "a process ended by a bus error"),
        (
            "n2: /dev/shm is full: 0 of 1048576 B are free\nsrun: error: n2: task 2: Bus error\n",
            "the shared memory of a node (/dev/shm) is full or too small (node n2)",
        ),
        (
            "job.sh: line 3: 77 Bus error               (core dumped) ./a\n",
            "a process ended by a bus error",
        ),
        (
            "solver: mesh.bin: cut after 7 rows, error 3\nsrun: error: n2: task 1: Bus error\n",
            "it failed; the first error in err is 'solver: mesh.bin: cut",
        ),
        (
            "solver: mesh.bin: No space left on device\nsrun: error: n2: task 1: Bus error\n",
            "it failed; the first error in err is 'solver: mesh.bin: No space",
        ),
    ],
)
def test_a_bus_error_is_the_shared_memory_only_as_far_as_it_is_known(text, cause):
    assert launch_errors.explained("it failed", {"err": text}).startswith(cause)


def test_at_least_sixty_texts_of_many_repositories_are_tried():
    sources = [each.id for each in public_texts()]
    assert len(set(sources)) >= 60
    assert len({source.partition("#")[0] for source in sources}) >= 30


@pytest.mark.parametrize(
    "text",
    [
        "",
        FAREWELL,
        "mpi/pmi2: all is well\n",
        "# Size       Latency (us)\n8     1.50\n",
        "WARNING: 2 errors were healed\n",
    ],
)
def test_nothing_is_claimed_of_harmless_lines(text):
    assert launch_errors.known(text) is None and launch_errors.first_error(text) is None


@pytest.mark.parametrize(
    "err, message",
    [
        (CUT, "MPICH could not start, which is not the fault of a node: "),
        (
            "ERROR on proc 0: Cannot open input script in.lj: No such file or directory"
            " (src/lammps.cpp:545)\nLast command: (unknown)\n"
            + "-"
            * 74
            + "\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nYou may or may not see"
            " output from other processes, depending on\nexactly when Open MPI kills them.\n",
            (
                "it failed; the first error in err is 'ERROR on proc 0: Cannot open input script in.lj: No"
                " such file"
            ),
        ),
        (
            (
                "[n1:7:0:7] Caught signal 11 (Segmentation fault: address not mapped to object at address"
                " (nil))\nslurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME"
                " LIMIT ***\nsrun: error: n1: task 0: Out Of Memory\n"
            ),
            "the program crashed: Segmentation fault (node n1); ",
        ),
        (
            f"note\nbench: cannot open the table\n{FAREWELL}",
            "it failed; the first error in err is 'bench: cannot open",
        ),
        (
            (
                'Traceback (most recent call last):\n  File "a.py", line 1\n    raise'
                ' E("cannot")\nValueError: 3 is odd\n'
            ),
            "it failed; the first error in err is 'ValueError: 3 is odd'",
        ),
        (f"a\nboom\n----\n{FAREWELL}", "it failed; the last line of err is 'boom'"),
        ("", "it failed; the last line of out is 'a table'"),
        (
            "x" * 300 + " failed: the reason\n",
            "it failed; the first error in err is 'xxx",
        ),
    ],
)
def test_a_failure_begins_with_its_cause_or_ends_with_the_first_error(err, message):
    found = launch_errors.explained("it failed", {"err": err, "out": "a table\n"})
    assert found.startswith(message)
    assert found.endswith(" (it failed)") or found.startswith("it failed; ")
    assert "the reason" in found or "the reason" not in err


def test_a_farewell_is_shown_where_there_is_nothing_else():
    assert launch_errors.explained("it failed", {"err": FAREWELL, "out": ""}).endswith(
        f"is {FAREWELL.strip()!r}"
    )
    assert (
        launch_errors.explained("it failed", {"err": "", "out": "----\n"})
        == "it failed"
    )


@pytest.mark.parametrize("begin", ["slurmstepd-n1:", "[2026-11-29T09:18:25.011]"])
def test_the_lines_of_slurmstepd_are_a_farewell_and_name_no_node_that_failed(begin):
    step = f"{begin} error: *** STEP 2.1 ON n1 CANCELLED AT 2026-11-29T09:18:25 DUE TO"
    assert (
        launch_errors.first_error(f"{step} TIME LIMIT ***\nsrun: got SIGCONT\n") is None
    )
    found = launch_errors.known(
        f"srun: error: Node failure on n1\n{step} NODE FAILURE, SEE SLURMCTLD LOG ***\n"
    )
    assert found.startswith("a node of the job failed, perhaps another one")
    assert "(node n1)" not in found
