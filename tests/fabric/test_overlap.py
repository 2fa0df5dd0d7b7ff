# SPDX-License-Identifier: BSD-3-Clause
"""The programs ``overlap`` and ``collective_overlap``, for real on every MPI, and against an oracle.

The oracle is ``progress_shim.c``, an MPI layer in which operations of rank 0 take a known time and the right
availability is known.
"""

import os
import re
import statistics
import time
from typing import NamedTuple

import pytest

from fabric_checks.parsers import overlap
from tests.conftest import TESTS
from tests.fabric.builds import MPIS
from tests.fabric.one_program import OneProgram

SHIM = (TESTS / "fabric" / "progress_shim.c").read_text()
PROGRAMS = ("overlap", "collective_overlap")
SHORT = ["--max-seconds-per-point", "0.002", "--warmup", "1"]

#: Runs that share the machine with others must not be bound to the same processor as they.
UNBOUND = {"PRTE_MCA_hwloc_default_binding_policy": "none", "I_MPI_PIN": "off"}

#: Short against the time slices of the kernel: on a loaded machine few samples are then interrupted, and the
#: median does not see them. Long against the microsecond that the real message takes.
DELAY_US = 200
POLL_INTERVAL_US = 5
SIZE_B = 1024
ORACLE = f"--min-size {SIZE_B} --max-size {SIZE_B} --max-seconds-per-point 0.03 --warmup 1".split()


class Case(NamedTuple):
    """An interconnect: how it makes progress, what its posts cost, and which availability that leaves."""

    name: str
    progress: str
    busy: float
    arguments: tuple[str, ...]
    availability_percent: float


CASES = [
    Case("offload", "offload", 0, (), 100),
    Case("no progress outside of calls", "none", 0, (), 0),
    Case(
        "no progress outside of calls, --poll",
        "none",
        0,
        ("--poll", "--poll-interval", str(POLL_INTERVAL_US)),
        100,
    ),
    Case("offload, post busy for 0.3", "offload", 0.3, (), 70),
    Case("offload, post busy for 0.6", "offload", 0.6, (), 40),
]
POINTS = 5.0
#: A transfer that takes longer, or shorter, than on the known interconnect by more than this share was
#: disturbed.
UNDISTURBED = 0.1

#: A measurement outside of the margin is repeated: what other processes do to it differs each time, a wrong
#: method is wrong each time.
ATTEMPTS = 12
PAUSE_SECONDS = 1


@pytest.fixture(scope="module", params=MPIS)
def programs(request, tmp_path_factory):
    return {
        name: OneProgram(request.param, name, tmp_path_factory.mktemp(name))
        for name in PROGRAMS
    }


@pytest.fixture(scope="module")
def shimmed(tmp_path_factory):
    """The programs on top of the oracle, which stands for the progress of any MPI."""
    return {
        name: OneProgram("mpich", name, tmp_path_factory.mktemp(name), shim=SHIM)
        for name in PROGRAMS
    }


def with_oracle(program, case, *arguments):
    """Return the output of a run on an interconnect whose availability is known."""
    settings = {
        "PROGRESS_SHIM_DELAY": str(1e-6 * DELAY_US),
        "PROGRESS_SHIM_LEAST": str(SIZE_B),
        "PROGRESS_SHIM_PROGRESS": case.progress,
        "PROGRESS_SHIM_BUSY": str(case.busy),
    }
    text = program.output(2, *ORACLE, *case.arguments, *arguments, **settings)
    if program.program == "overlap":
        return overlap.parse(text, [SIZE_B])
    return overlap.parse_collectives(text, [SIZE_B], ["iallreduce"])


def is_undisturbed(output, transfer):
    """Tell whether transfers took the time that they take on the known interconnect, and repeated well."""
    nominal_us = output.values(f"{transfer}_nominal_us")[SIZE_B]
    low_us, high_us = (
        output.values(f"{transfer}_overhead_ci_{end}_us")[SIZE_B]
        for end in ("low", "high")
    )
    return (
        abs(nominal_us / DELAY_US - 1) <= UNDISTURBED
        and 100 * (high_us - low_us) / nominal_us <= POINTS
    )


def skip_if_busy(case):
    """Skip the test if so much else runs that every run of a case can have been disturbed."""
    load = os.getloadavg()[0]
    if load > len(os.sched_getaffinity(0)):
        pytest.skip(
            f"{case.name}: disturbed in {ATTEMPTS} runs, or wrong; the load of this machine is {load}"
        )


def measured(program, case, transfers, of_machine):
    """Return the availability of each transfer, and what is expected, both in percent.

    It is the median of the runs that other processes did not disturb. A method that is wrong is wrong on an
    idle machine too; what other processes do to a run can be seen in its values. What the calls of MPI take
    beyond the known time is seen without work, and is not available: on a slow machine it is several percent
    of a collective.

    :param of_machine: of each transfer the share that the machine leaves otherwise, seen where nothing is to
        be taken.
    """
    arguments = () if program.program == "overlap" else ("--operation", "iallreduce")
    found = {transfer: [] for transfer in transfers}
    medians = {}
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE_SECONDS if attempt else 0)
        output = with_oracle(program, case, *arguments)
        for transfer, values in found.items():
            if is_undisturbed(output, transfer):
                columns = (
                    f"{transfer}_{name}"
                    for name in ("availability_percent", "nominal_us")
                )
                values.append([output.values(column)[SIZE_B] for column in columns])
            if values:
                value, nominal_us = (
                    statistics.median(each) for each in zip(*values, strict=True)
                )
                right = case.availability_percent * min(DELAY_US / nominal_us, 1)
                medians[transfer] = value, right * of_machine.get(transfer, 1)
        if len(medians) == len(found) and all(
            abs(value - right) <= POINTS for value, right in medians.values()
        ):
            break
    else:
        skip_if_busy(case)
    assert len(medians) == len(found), f"{case.name}: disturbed in {ATTEMPTS} runs"
    return medians


@pytest.mark.alone
def test_the_availability_of_a_known_interconnect_is_found(shimmed, report_table):
    lines = [
        f"{'interconnect':38} {'expected':>8} {'isend':>8} {'irecv':>8} {'iallreduce':>10}"
    ]
    wrong, of_machine = [], {}
    for case in CASES:
        found = measured(shimmed["overlap"], case, ["isend", "irecv"], of_machine)
        found |= measured(
            shimmed["collective_overlap"], case, ["iallreduce"], of_machine
        )
        of_machine = of_machine or {
            name: min(value / right, 1) for name, (value, right) in found.items()
        }
        isend, irecv, iallreduce = (
            found[name][0] for name in ("isend", "irecv", "iallreduce")
        )
        lines.append(
            f"{case.name:38} {case.availability_percent:8.1f} {isend:8.1f} {irecv:8.1f} {iallreduce:10.1f}"
        )
        wrong += [
            f"{case.name}: {name} {value:.1f} instead of {right:.1f}"
            for name, (value, right) in found.items()
            if abs(value - right) > POINTS
        ]
    report_table(
        f"host availability, percent, when transfers take {DELAY_US} us", lines
    )
    assert not wrong


@pytest.mark.alone
def test_a_search_says_how_it_ended(shimmed):
    """A search that may take only three steps cannot close its bracket, one of enough steps does."""
    output = with_oracle(shimmed["overlap"], CASES[0], "--max-steps", "3")
    assert all(
        output.values(f"{transfer}_stop") == {SIZE_B: "cap"}
        for transfer in overlap.TRANSFERS
    )
    assert output.values("isend_steps") == {SIZE_B: 2}
    # Without progress 1 % of work lengthens a transfer by 1 %, which is more than this share.
    for case, arguments, stop in (
        (CASES[1], ["--knee-share", "0.005"], "none"),
        (CASES[3], [], "knee"),
    ):
        attempts = (
            with_oracle(shimmed["overlap"], case, *arguments) for _ in range(ATTEMPTS)
        )
        if not any(
            output.values("isend_stop") == {SIZE_B: stop} for output in attempts
        ):
            skip_if_busy(case)
            pytest.fail(f"{case.name}: no search of {ATTEMPTS} ended with {stop!r}")


def test_overlap_measures_every_size(programs, tmp_path):
    raw = tmp_path / "raw.txt"
    sizes = [0, 1, 2]
    arguments = [*SHORT, "--max-size", "3", "--max-steps", "6", "--raw", str(raw)]
    output = overlap.parse(programs["overlap"].output(2, *arguments, **UNBOUND), sizes)
    assert output.header["poll"] == "no"
    assert re.fullmatch(r"one iteration takes [0-9.e+]+ ns", output.header["work"])
    samples = [line.split() for line in raw.read_text().splitlines()]
    assert {(int(size), transfer) for size, transfer, *_ in samples} == {
        (size, transfer) for size in sizes for transfer in overlap.TRANSFERS
    }
    assert {part for _, _, part, _, _ in samples} == {"transfer", "work"}


def test_messages_beyond_the_eager_limit(programs):
    arguments = [
        *SHORT,
        "--min-size",
        "1M",
        "--max-size",
        "1M",
        "--poll",
        "--poll-interval",
        "2.5",
    ]
    output = overlap.parse(
        programs["overlap"].output(2, *arguments, **UNBOUND), [1024**2]
    )
    assert output.header["poll"].startswith("MPI_Test every 2.5 us, which are ")


def test_more_ranks_than_processors(programs):
    """An odd number of ranks; the program verifies the results on each of them."""
    arguments = [
        *SHORT,
        "--min-size",
        "16",
        "--max-size",
        "16",
        "--max-steps",
        "3",
        "--min-samples",
        "8",
    ]
    text = programs["collective_overlap"].output(3, *arguments, **UNBOUND)
    assert overlap.parse_collectives(text, [16]).header["ranks"] == "3"
