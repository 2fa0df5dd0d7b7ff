# SPDX-License-Identifier: BSD-3-Clause
"""The program ``rotate``, built and run for real on every MPI that is set up.

With more ranks than cores nothing can be said of speed. Where a test needs slow pairs, ``slow_shim.c`` makes
all pairs slow by a known time and the faulty ones by a multiple of it.
"""

import math
import re
import statistics
import time

import numpy as np
import pytest

from fabric_checks.parsers import rotate, rotate_patterns
from lab.rotate import exchanges, patterns
from lab.rotate.leaf_flows import leaf_flows
from tests.conftest import TESTS
from tests.fabric.builds import MPIS
from tests.fabric.one_program import OneProgram
from tests.guard import despite_load

SHIM = TESTS / "fabric" / "slow_shim.c"
SHORT = ["--size", "4K", "--messages", "2", "--tests", "1", "--confirm-pause", "0"]
PATTERNS = ("rotate", "shift", "bisection", "round-robin")


class Rotate(OneProgram):
    """The program, and the rows that it prints."""

    def rows(self, ranks, *arguments, **shim):
        """Return header and rows of a run that went well; the library's parser has to accept it too."""
        settings = {f"FC_SHIM_{key.upper()}": str(value) for key, value in shim.items()}
        text = self.output(ranks, *map(str, arguments), **settings)
        rotate.parse(text)
        return header_of(text), rows_of(text)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The program with the shim, whose waiting ranks sleep, for what no MPI changes."""
    return Rotate(
        "impi", "rotate", tmp_path_factory.mktemp("quick"), shim=SHIM.read_text()
    )


@pytest.mark.parametrize("mpi", MPIS)
def test_every_mpi_runs_every_pattern(mpi, tmp_path):
    program = Rotate(mpi, "rotate", tmp_path)
    for pattern in PATTERNS:
        header, rows = program.rows(
            5, *SHORT, "--pattern", pattern, "--confirm", "--confirm-repeats", "1"
        )
        assert pairs_by_round(rows) == definition(pattern, 5)
        assert all(math.isfinite(row[3]) and row[3] > 0 for row in rows)
        elapsed, transfers = (
            float(header[key].removesuffix(" s")) for key in ("elapsed", "transfers")
        )
        assert float(header["elapsed over transfers"]) == pytest.approx(
            elapsed / transfers, abs=1e-3
        )
        assert elapsed >= transfers > 0
        assert header["complete"].startswith(f"{len(rows)} rows, crc32 ")


def header_of(text):
    return dict(re.findall(r"(?m)^# ([a-z0-9 -]+): (.*)$", text))


def rows_of(text):
    """Return the rows as (round, sender, receiver, MBps, phase, slowest MBps)."""
    cells = [line.split(" ") for line in text.splitlines() if not line.startswith("#")]
    return [
        (int(k), int(i), int(j), float(best), phase, float(slowest))
        for k, i, j, best, slowest, phase, _ in cells
    ]


def pairs_by_round(rows, phase="scan"):
    rounds = {}
    for number, sender, receiver, _, name, _ in rows:
        if name == phase:
            rounds.setdefault(number, []).append((sender, receiver))
    return rounds


def split_mix(state):
    """Yield the numbers of splitmix64."""
    mask = 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def matching(nodes, seed, number):
    """Return a random matching: a permutation of the nodes, taken two by two."""
    random = split_mix((next(split_mix(seed)) + number) % 2**64)
    order = list(range(nodes // 2 * 2))
    for last in range(len(order) - 1, 0, -1):
        chosen = (next(random) >> 32) * (last + 1) >> 32
        order[last], order[chosen] = order[chosen], order[last]
    return sorted(zip(order[::2], order[1::2], strict=True))


def definition(pattern, nodes):
    """Return the pairs of every round, as the library has them, of which the rounds do not follow from a
    seed."""
    if pattern == "bisection":
        return {k: matching(nodes, 1, k) for k in range(nodes // 2)}
    rounds = {
        "rotate": nodes // 2,
        "shift": nodes - 1,
        "round-robin": 2 * rotate_patterns.turns(nodes),
    }[pattern]
    sender, receiver = patterns.pairs(pattern, nodes, np.arange(rounds, dtype=np.int32))
    return {
        k: list(zip(sender[k].tolist(), receiver[k].tolist(), strict=True))
        for k in range(rounds)
    }


# ------------------------------------------------------------- patterns


@pytest.mark.parametrize("ranks", [2, 5, 8, 17])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_has_exactly_its_pairs(quick, pattern, ranks):
    header, rows = quick.rows(ranks, *SHORT, "--pattern", pattern)
    expected = definition(pattern, ranks)
    assert pairs_by_round(rows) == expected
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert header["nodes"] == str(ranks)
    assert header["suspects"] == "not measured again"
    assert header["pattern"] == pattern
    assert header["shifts"] == f"{len(expected)} of {len(expected)}"
    odd = ranks % 2 == 1 and pattern not in ("shift", "round-robin")
    host = header[f"rank {ranks - 1}"].split()[1]
    assert header["left out"] == (f"rank {ranks - 1} host {host}" if odd else "none")


def test_matchings_follow_from_the_seed(quick):
    options = [*SHORT, "--pattern", "bisection", "--shifts", "6"]
    for seed in (1, 2):
        pairs = pairs_by_round(quick.rows(8, *options, "--seed", seed)[1])
        assert pairs == {k: matching(8, seed, k) for k in range(6)}


@pytest.mark.parametrize(
    "pattern, ranks, shifts, rounds, said",
    [
        (
            "shift",
            8,
            3,
            [0, 3, 6],
            ("3 of 7, evenly spread", "24 of 56", "none", "none"),
        ),
        ("shift", 8, 1, [0], ("1 of 7, evenly spread", "8 of 56", "none", "none")),
        (
            "rotate",
            8,
            9,
            [0, 1, 2, 3],
            ("4 of 4", "16 of 56", "ranks 4-7", "ranks 0-3"),
        ),
        ("rotate", 5, 0, [0, 1], ("2 of 2", "4 of 20", "ranks 2-4", "ranks 0-1,4")),
        (
            "round-robin",
            8,
            9,
            [0, 1, 2, 3, 4, 5, 6, 7, 13],
            ("9 of 14, evenly spread", "36 of 56", "none", "none"),
        ),
        (
            "round-robin",
            5,
            1,
            [0],
            ("1 of 10, evenly spread", "2 of 20", "ranks 0,2,4", "ranks 0-1,3"),
        ),
    ],
)
def test_some_shifts_are_evenly_spread_and_what_is_left_out_is_said(
    quick, pattern, ranks, shifts, rounds, said
):
    header, rows = quick.rows(ranks, *SHORT, "--pattern", pattern, "--shifts", shifts)
    everything = definition(pattern, ranks)
    assert pairs_by_round(rows) == {number: everything[number] for number in rounds}
    keys = ("shifts", "ordered pairs", "never sender", "never receiver")
    assert tuple(header[key] for key in keys) == said


@pytest.mark.parametrize("ranks, shifts", [(8, 4), (5, 6), (7, 3)])
def test_each_turn_measures_other_rounds_until_all_were(quick, ranks, shifts):
    everything = definition("round-robin", ranks)
    words = [*SHORT, "--pattern", "round-robin", "--shifts", shifts]
    seen = set()
    for turn in range(rotate_patterns.runs_until_all(ranks, shifts)):
        header, rows = quick.rows(ranks, *words, "--turn", turn)
        numbers = patterns.round_robin_rounds(ranks, shifts, turn)
        assert pairs_by_round(rows) == {each: everything[each] for each in numbers}
        assert header["shifts"].startswith(f"{shifts} of {len(everything)}")
        seen.update(numbers)
    assert seen == set(everything)


# ------------------------------------------------------------- groups

#: The switch of each rank: some of several, of unequal numbers, one of its own, one without.
GROUPS = ["aaaaaabb", "ab-cabcb", "abcdefgh"]


@pytest.mark.parametrize("letters", GROUPS)
def test_the_nodes_of_a_group_send_to_all_others_at_once(quick, tmp_path, letters):
    """The ranks are hosts of their own by the shim."""
    file = tmp_path / "groups"
    file.write_text(
        "".join(f"rank{k} {name}\n" for k, name in enumerate(letters) if name != "-")
    )
    header, rows = quick.rows(len(letters), *SHORT, "--groups", file, hosts=1)
    names = [name for name in dict.fromkeys(letters) if name != "-"]
    groups = [names.index(name) if name != "-" else -1 for name in letters]
    assert header["groups"] == " ".join(map(str, groups))
    flows = [
        (number, sender, receiver)
        for number, sender, receiver, _, phase, _ in rows
        if phase == "leaf"
    ]
    assert flows == leaf_flows(groups) and flows


def test_groups_that_cannot_be_read_end_the_program_and_without_any_there_is_no_phase(
    quick, tmp_path
):
    (tmp_path / "torn").write_text("rank0 a\nrank1")
    torn = f"cannot read the file of --groups '{tmp_path}/torn': Invalid argument; give lines `HOST GROUP`"
    quick.refuses(torn, 2, *SHORT, "--groups", str(tmp_path / "torn"))
    header, rows = quick.rows(2, *SHORT, "--groups", "slurm")
    assert header["groups"] == "none" and {row[4] for row in rows} == {"scan"}


# ------------------------------------------------------------- suspects

FAULTY = [
    "--size",
    "4K",
    "--messages",
    "1",
    "--tests",
    "2",
    "--confirm",
    "--confirm-repeats",
    "2",
]
FAULTY += ["--suspect-share", "0.4", "--confirm-pause", "0"]
#: A slow one waits far longer than a loaded machine keeps a process from its processor.
SLOW = {"base_us": 2000, "factor": 20}


def median_MBps(rows, phase, of=lambda sender, receiver: True):
    values = [
        value
        for _, sender, receiver, value, name, _ in rows
        if name == phase and of(sender, receiver)
    ]
    return statistics.median(values) if values else math.nan


def require_whole(header, rows, repeats=2):
    """Check what holds for every confirmation, whatever was found."""
    if header["suspects"] == "none":
        assert {row[4] for row in rows} == {"scan"}
        return
    said = re.fullmatch(
        r"(\d+) pairs of (\d+), (\d+) senders, (\d+) receivers; (\d+) measured again, (\d+) alone",
        header["suspects"],
    )
    suspects, all_pairs, _, _, again, alone = map(int, said.groups())
    nodes = int(header["nodes"])
    assert all_pairs == nodes * (nodes - 1)
    together = pairs_by_round(rows, "together")
    assert (
        len({pair for pairs in together.values() for pair in pairs}) >= again >= alone
    )
    assert suspects >= again
    for pairs in together.values():
        for end in (0, 1):
            assert len({pair[end] for pair in pairs}) == len(pairs)
    for phase in ("together", "control", "alone"):
        rounds = pairs_by_round(rows, phase)
        assert list(rounds) == list(range(len(rounds)))
        if phase != "together":
            assert len(rounds) % repeats == 0
            assert all(
                rounds[k] == rounds[k % (len(rounds) // repeats)] for k in rounds
            )
    control, single = pairs_by_round(rows, "control"), pairs_by_round(rows, "alone")
    assert len(single) == alone * repeats
    assert len(control) <= 32 * repeats
    assert len(together) + len(control) + len(single) <= repeats / 4 * (
        nodes / 2 + 80 * math.log2(nodes)
    )
    assert all(len(pairs) == 1 for pairs in [*control.values(), *single.values()])
    assert not {pairs[0] for pairs in control.values()} & {
        pairs[0] for pairs in single.values()
    }


@despite_load
def test_a_slow_pair_stays_slow_alone(quick):
    header, rows = quick.rows(8, *FAULTY, **SLOW, sender=1, receiver=6)
    require_whole(header, rows)
    slow = median_MBps(
        rows, "alone", lambda sender, receiver: (sender, receiver) == (1, 6)
    )
    assert slow < 0.6 * median_MBps(rows, "control")
    # The other direction was measured again too, and the next ranks ran beside, unless others had one of
    # their nodes.
    together = list(pairs_by_round(rows, "together").values())
    assert any((6, 1) in pairs for pairs in together)
    first = next(pairs for pairs in together if (1, 6) in pairs)
    busy = {node for pair in first for node in pair}
    assert {0, 5} & busy and {2, 7} & busy
    assert sum((1, 6) in pairs for pairs in together) > 1, "it stayed slow"


@despite_load
def test_a_slow_sender_is_measured_with_all_others(quick):
    header, rows = quick.rows(8, *FAULTY, **SLOW, sender=2)
    require_whole(header, rows)
    alone = {
        (sender, receiver)
        for _, sender, receiver, _, phase, _ in rows
        if phase == "alone"
    }
    assert alone >= {(2, receiver) for receiver in range(8) if receiver != 2}
    assert median_MBps(
        rows, "alone", lambda sender, _: sender == 2
    ) < 0.6 * median_MBps(rows, "control")
    assert all(
        sender != 2
        for pairs in pairs_by_round(rows, "control").values()
        for sender, _ in pairs
    )
    together = {
        pair for pairs in pairs_by_round(rows, "together").values() for pair in pairs
    }
    assert together >= {(sender, 2) for sender in range(8) if sender != 2}, (
        "it may be slow in both directions"
    )


@despite_load
def test_a_slow_node_of_an_odd_number_is_found(quick):
    """The last one, which the pattern `rotate` leaves out."""
    header, rows = quick.rows(
        5, *FAULTY, "--pattern", "round-robin", "--shifts", "6", **SLOW, sender=4
    )
    require_whole(header, rows)
    alone = {pair for pairs in pairs_by_round(rows, "alone").values() for pair in pairs}
    assert {(4, receiver) for receiver in range(4)} <= alone


@pytest.mark.parametrize("pattern", ["shift", "bisection"])
@despite_load
def test_a_slow_receiver_is_found_in_other_patterns(quick, pattern):
    header, rows = quick.rows(
        8, *FAULTY, "--pattern", pattern, "--shifts", "7", **SLOW, receiver=5
    )
    require_whole(header, rows)
    assert re.search(r" [1-9]\d* receivers", header["suspects"])
    slow = median_MBps(rows, "alone", lambda _, receiver: receiver == 5)
    assert slow < 0.6 * median_MBps(rows, "control")


@despite_load
def test_the_number_of_pairs_measured_alone_has_a_limit(quick):
    header, rows = quick.rows(8, *FAULTY, "--confirm-limit", "1", **SLOW, sender=2)
    require_whole(header, rows)
    assert len(pairs_by_round(rows, "alone")) == 2


@despite_load
def test_time_passes_before_a_pair_is_slow_for_the_last_time(quick):
    begin = time.monotonic()
    header, rows = quick.rows(
        4, *FAULTY, "--confirm-pause", "2", **SLOW, sender=1, receiver=2
    )
    passed = time.monotonic() - begin
    require_whole(header, rows)
    assert pairs_by_round(rows, "alone")
    assert float(header["elapsed"].split()[0]) + 2 < passed, (
        "the pause is not of what was measured"
    )


def test_nothing_is_suspect_in_a_healthy_fabric(quick):
    """Waiting times that do not differ leave nothing to measure again."""
    header, rows = quick.rows(4, *FAULTY, "--suspect-share", "0.8", base_us=5000)
    assert header["suspects"] == "none"
    assert {row[4] for row in rows} == {"scan"}


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_confirmed_run_is_whole_whatever_it_finds(quick, ranks):
    for pattern in PATTERNS:
        header, rows = quick.rows(
            ranks, *SHORT, "--confirm", "--confirm-repeats", "3", "--pattern", pattern
        )
        require_whole(header, rows, repeats=3)


# ------------------------------------------------------------- both directions at once

BOTH = [*FAULTY, "--pattern", "round-robin", "--shifts", "6", "--both-ways"]


@pytest.mark.parametrize("ranks, rails", [(2, 1), (5, 1), (8, 1), (8, 2)])
def test_every_node_exchanges_with_the_next_on_either_hand(quick, ranks, rails):
    words = ["--confirm", "--both-ways", "--suspect-share", "0.99"]
    for adapters in range(1, rails + 1):
        of_rails = ["--rails", rails, "--adapters", adapters]
        _, rows = quick.rows(ranks, *SHORT, *words, *of_rails)
        wanted = exchanges.rounds(ranks // rails, rails, rails // adapters)
        assert pairs_by_round(rows, "both") == {
            number: sorted([*pairs, *((other, one) for one, other in pairs)])
            for number, pairs in enumerate(wanted)
        }
        assert rows[-1][4] == "both"


@pytest.mark.parametrize("rank", [0, 3])
@despite_load
def test_a_node_that_is_slow_in_both_directions_is_measured_again(quick, rank):
    header, rows = quick.rows(8, *BOTH, **SLOW, both=rank, hosts=1)
    one, other = exchanges.partners(rank, 8, 1, [rank])
    alone = pairs_by_round(rows, "both-alone")
    three = [(one, other), (rank, one), (rank, other)]
    each = [{pair, pair[::-1]} for pair in three] + [{(rank, one)}, {(one, rank)}]
    assert [set(alone[number]) for number in sorted(alone)] == each * 2
    one_way = [alone[number][0] for number in (3, 4)]
    fast = [row[3] for row in rows if row[4] == "both-alone" and row[0] in (3, 4)]
    assert one_way == [(rank, one), (one, rank)]
    assert max(fast) > 5 * min(row[3] for row in rows if row[4] == "both-alone")
    slow = median_MBps(rows, "both-alone", lambda *pair: rank in pair)
    assert slow < 0.6 * median_MBps(rows, "both-alone", lambda *pair: rank not in pair)
    assert header["suspects"] == "none", "one direction alone is fast"


@despite_load
def test_a_node_that_is_slow_one_way_comes_after_others(quick):
    _, rows = quick.rows(8, *BOTH, **SLOW, sender=5, both=1, hosts=1)
    alone = pairs_by_round(rows, "both-alone")
    first, second = ({*alone[number][0]} & {1, 5} for number in (1, 6))
    assert (first, second) == ({1}, {5})


def test_both_ways_needs_what_measures_again(quick):
    message = "--both-ways measures with --confirm only; give both"
    quick.refuses(message, 2, *SHORT, "--both-ways")


# ------------------------------------------------------------- everything else


def test_raw_has_every_test(quick, tmp_path):
    raw = tmp_path / "raw"
    _, rows = quick.rows(
        4, "--size", "1K", "--messages", "3", "--tests", "2", "--raw", raw
    )
    times = {}
    for line in raw.read_text().splitlines():
        phase, number, test, sender, receiver, time_us = line.split()
        times[phase, int(number), int(sender), int(receiver), int(test)] = float(
            time_us
        )
    assert len(times) == 2 * len(rows)
    for number, sender, receiver, value, phase, slowest in rows:
        took = [times[phase, number, sender, receiver, test] for test in (0, 1)]
        assert (value, slowest) == pytest.approx(
            (3 * 1024 / min(took), 3 * 1024 / max(took)), rel=1e-4
        )


def test_the_median_of_the_tests_ends_a_row(quick, tmp_path):
    raw = tmp_path / "raw"
    text = quick.output(
        2, "--size", "1K", "--messages", "3", "--tests", "5", "--raw", raw
    )
    scan = rotate.parse(text).scan
    lines = [line.split() for line in raw.read_text().splitlines()]
    took = [float(line[-1]) for line in lines if line[1] == str(scan.round[0])]
    assert scan.median_MBps[0] == pytest.approx(3 * 1024 / np.median(took), rel=1e-4)


def test_wrong_data_end_the_program(quick):
    message = "wrong data: byte 4095 of a message of 4096 bytes from rank 1 to rank"
    quick.refuses(message, 4, *SHORT, "--messages", "1", FC_SHIM_CORRUPT="1")
