# SPDX-License-Identifier: BSD-3-Clause
"""The SimGrid plugin: it compiles without a warning, refuses a wrong platform file, and does what a right one
says."""

import pytest

from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import overlap, rotate, streaming
from fabric_twins.model.platform_file import platform
from fabric_twins.smpirun import FEWEST
from tests.conftest import TESTS
from tests.twins.simulation import SOURCES, build_plugin, simgrid

pytestmark = simgrid

ROTATE = SOURCES / "rotate.c"


def test_it_compiles_without_a_warning(tmp_path):
    assert build_plugin(tmp_path, "-Wpedantic", "-Wshadow", "-Werror").exists()


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "platform 1",
            "platform 2",
            "small.platform:1: this is no platform file of format 1; write it with",
        ),
        (
            "hop_latency 0",
            "hop_latency -1",
            "small.platform:3: the line cannot be read; write the file again",
        ),
        ("hop_latency 0", "colour 0", "3: the line cannot be read"),
        (
            "table inter receive 1 0 1e-06",
            "table inter receive 1 0",
            "5: the line cannot be read",
        ),
        ("100000000 shared 4", "nan shared 4", ": the line cannot be read"),
        ("host n0 0 1 out", "host n0 99 1 out", ": the line cannot be read"),
        ("next 0 - - 0 2", "next 0 - - 0 9999", ": the line cannot be read"),
        (
            "\nend ",
            "\n#",
            "small.platform: the last line `end` is missing: the file was cut off; write it again",
        ),
    ],
)
def test_a_wrong_platform_file_ends_the_program_with_one_line(
    simulator, small, old, new, message
):
    text = platform(small())
    assert old in text
    done = simulator.run(small(), 2, 1, ROTATE, platform=text.replace(old, new, 1))
    printed = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode != 0 and len(printed) == 1, done.stderr
    assert printed[0].startswith("twin.so: ") and message in printed[0]


def rates(simulator, twin, nodes=8):
    output = simulator.output(
        twin, nodes, 1, ROTATE, "--size", "1M", "--messages", "2", "--tests", "1"
    )
    return rotate.parse(output).scan


def test_a_slow_cable_slows_the_pairs_that_its_routes_cross(simulator, small):
    scan = rates(
        simulator,
        small(added="faults: [{cable: [leaf-0, level-2-0], fraction: 0.25}]\n"),
    )
    # leaf-0 has n0 and n1; d-mod-k sends what is for even hosts through level-2-0.
    crossing = (scan.sender < 2) & (scan.receiver % 2 == 0)
    assert scan.MBps[crossing] == pytest.approx(25, rel=0.01)
    assert scan.MBps[~crossing] == pytest.approx(100, rel=0.01)


def test_a_slow_host_is_slow_as_sender_and_as_receiver(simulator, small):
    scan = rates(
        simulator,
        small(added="faults: [{host: n1, fraction: 0.5}, {host: n6, fraction: 0.5}]\n"),
    )
    slow = (scan.sender == 1) | (scan.receiver == 6)
    assert scan.MBps[slow] == pytest.approx(50, rel=0.01) and scan.MBps[
        ~slow
    ] == pytest.approx(100, rel=0.01)


def test_swapped_cables_bring_congestion(simulator, small):
    scan = rates(simulator, small(added="faults: [{swap: [n0, n3]}]\n"))
    # The senders at a leaf are now both even or both odd, and so are their receivers: d-mod-k gives them one
    # cable.
    assert scan.MBps == pytest.approx(50, rel=0.01)


def test_a_hop_costs_its_latency(simulator, small):
    near = small(("latency_us: 3", "latency_us: 3\n  hop_latency_us: 1000"))
    scan = rates(simulator, near)
    # 2 MiB at 100 MB/s and twice four hops of 1 ms: there and the acknowledgement.
    assert scan.MBps == pytest.approx(2 * 2**20 / (2 * 2**20 / 100 + 8000), rel=0.01)


def times_us(simulator, twin, size, mode):
    arguments = (
        "--directions",
        "both",
        "--min-size",
        str(size),
        "--max-size",
        str(size),
        *FEWEST,
    )
    text = simulator.output(twin, 2, 1, SOURCES / "streaming.c", *arguments)
    return streaming.parse(text, half_octaves(size, size), directions="both").times_us(
        mode
    )[size]


@pytest.fixture
def adapters(simulator, small):
    """Return a function that tells what messages take without adapters that are kept, and with such of 2
    us."""

    def of(size, mode, added=""):
        free = small(added=added)
        kept = small(("receive_us: 1", "receive_us: 1\n  adapter_us: 2"), added=added)
        return times_us(simulator, free, size, mode), times_us(
            simulator, kept, size, mode
        )

    return of


def test_a_message_keeps_its_adapter_from_incoming_ones(adapters):
    free, kept = adapters(8, "bidirectional_ping_pong")
    assert kept == pytest.approx(free + 2, rel=0.01)


def test_messages_leave_an_adapter_one_after_another(adapters):
    free, kept = adapters(8, "streaming")
    assert free == pytest.approx(1.1, rel=0.1) and kept == pytest.approx(2.1, rel=0.1)


def test_a_slow_host_has_a_slow_adapter(adapters):
    _, kept = adapters(8, "streaming", "faults: [{host: n0, fraction: 0.5}]\n")
    assert kept == pytest.approx(4.1, rel=0.1)


@pytest.mark.parametrize(
    "size_B, mode",
    [(8, "ping_pong"), (65536, "streaming"), (65536, "bidirectional_ping_pong")],
)
def test_neither_a_single_message_nor_a_long_one_waits_for_an_adapter(
    adapters, size_B, mode
):
    free, kept = adapters(size_B, mode)
    assert kept == free


LONG_B = 32768


@pytest.fixture
def calling(small):
    """Return a function that loads a twin whose long messages need calls of MPI, for a part of them or (None)
    not."""

    def of(part):
        return small(
            *(
                [("receive_us: 1", f"receive_us: 1\n  needs_calls: {part}")]
                if part
                else []
            )
        )

    return of


@pytest.mark.parametrize(
    "part, poll, size, least, most",
    [
        (None, False, LONG_B, 90, 100),
        ("begin", False, LONG_B, 0, 5),
        ("whole", False, LONG_B, 0, 5),
        ("begin", True, LONG_B, 90, 100),  # the first question lets it go
        ("whole", True, LONG_B, 0, 5),  # questions take no time to speak of
        ("whole", False, 8192, 90, 100),
    ],
)
def test_the_share_of_time_left_for_work(
    simulator, calling, part, poll, size, least, most
):
    arguments = (
        "--min-size",
        str(size),
        "--max-size",
        str(size),
        *(["--poll"] if poll else []),
        *FEWEST,
    )
    found = overlap.parse(
        simulator.output(calling(part), 2, 1, SOURCES / "overlap.c", *arguments), [size]
    )
    for transfer in overlap.TRANSFERS:
        assert least <= found.values(f"{transfer}_availability_percent")[size] <= most


@pytest.mark.parametrize("mode", ["ping_pong", "bidirectional_streaming"])
@pytest.mark.parametrize("part", ["begin", "whole"])
def test_waiting_within_calls_takes_no_longer(simulator, calling, part, mode):
    free, needing = (
        times_us(simulator, calling(each), LONG_B, mode) for each in (None, part)
    )
    assert needing == pytest.approx(free, rel=1e-4)


@pytest.fixture
def waits_us(simulator, calling):
    """Return a function that tells what the message of processors.c takes, and what is left of it after the
    work."""

    def of(part, *words):
        text = simulator.output(
            calling(part), 2, 2, TESTS / "twins/processors.c", *words
        )
        return [float(word) for word in text.splitlines()[0].split()]

    return of


def test_a_message_begins_late_and_then_takes_its_time(waits_us):
    whole_us, left_us = waits_us("begin", "alone")
    assert left_us == pytest.approx(whole_us, rel=0.01)


def test_a_message_that_began_moves_while_its_host_works(waits_us):
    _, left_us = waits_us("begin", "begun")
    assert left_us == pytest.approx(0, abs=1)


def test_a_message_all_of_which_needs_calls_goes_on_where_it_was(waits_us):
    whole_us, left_us = waits_us("whole", "begun")
    assert left_us == pytest.approx(whole_us / 2, rel=0.05)


@pytest.mark.parametrize("part", ["begin", "whole"])
def test_a_host_has_time_for_messages_while_one_of_its_ranks_waits(waits_us, part):
    _, left_us = waits_us(part, "accompanied")
    assert left_us == pytest.approx(0, abs=1)
