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


def public_texts():
    """Return source, cause, nodes and text of each excerpt in ``launch_errors.txt``."""
    for block in (
        Path(__file__)
        .with_suffix("")
        .with_name("launch_errors.txt")
        .read_text()
        .split("\n## ")[1:]
    ):
        head, _, text = block.partition("\n")
        source, _, expected = head.partition(" -> ")
        cause, _, nodes = expected.partition(" | ")
        yield pytest.param(cause, nodes, text, id=source)


@pytest.mark.parametrize("cause, nodes, text", list(public_texts()))
def test_a_public_text_gives_cause_nodes_and_remedy(cause, nodes, text):
    message = launch_errors.known(text)
    assert message.startswith(cause)
    found, _, remedy = message[len(cause) :].partition("; ")
    assert (f" {nodes})" in found) if nodes else "(node" not in found
    assert remedy and "not named" not in message
    shown = message.rpartition("; it printed ")[2].strip("'\"").split(" ... ")
    assert all(part in text for part in shown) and max(map(len, shown)) > 4


def test_at_least_sixty_texts_of_many_repositories_are_tried():
    sources = [each.id for each in public_texts()]
    assert (
        len(set(sources)) >= 60
        and len({source.partition("#")[0] for source in sources}) >= 30
    )


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
    assert (
        found.startswith("a node of the job failed, perhaps another one")
        and "(node n1)" not in found
    )
