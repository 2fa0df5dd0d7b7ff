# SPDX-License-Identifier: BSD-3-Clause
"""The program ``rotate``, built and run for real on every MPI that is set up.

With more ranks than cores nothing can be said of speed. Where a test needs slow pairs, ``slow_shim.c`` makes all
pairs slow by a known time and the faulty ones by a multiple of it.
"""

import math
import re
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric_checks.parsers import rotate
from tests.conftest import TESTS
from tests.fabric import builds
from tests.fabric.builds import MPIS, environment
from tests.guard import GUARD_S, despite_load

SHIM = TESTS / "fabric" / "slow_shim.c"
SHORT = ["--size", "4K", "--messages", "2", "--tests", "1", "--confirm-pause", "0"]
PATTERNS = ("rotate", "shift", "bisection", "round-robin")


@dataclass
class Built:
    """The program built by one MPI, as it is and with the shim linked into it."""

    mpi: str
    folder: Path
    always_shim: bool = False

    def run(self, ranks, *arguments, program="rotate", **shim):
        env = environment(self.mpi)
        env |= {f"FC_SHIM_{key.upper()}": str(value) for key, value in shim.items()}
        command = ["mpirun", "-np", str(ranks), str(self.folder / program), *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=GUARD_S)

    def rows(self, ranks, *arguments, **shim):
        """Return header and rows of a run that went well; the library's parser has to accept it too."""
        done = self.run(ranks, *arguments, program="rotate_slow" if shim or self.always_shim else "rotate", **shim)
        assert done.returncode == 0, done.stderr
        rotate.parse(done.stdout)
        return header_of(done.stdout), rows_of(done.stdout)


def build(mpi, folder, always_shim=False):
    builds.make(mpi, "rotate", folder / "rotate")
    builds.make(mpi, "rotate", folder / "rotate_slow", sources=[SHIM])
    return Built(mpi, folder, always_shim)


@pytest.fixture(scope="module", params=MPIS)
def built(request, tmp_path_factory):
    return build(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The program with the shim, whose waiting ranks sleep, for what no MPI changes."""
    return build("impi", tmp_path_factory.mktemp("quick"), always_shim=True)


def header_of(text):
    return dict(re.findall(r"(?m)^# ([a-z0-9 -]+): (.*)$", text))


def rows_of(text):
    """Return the rows as (round, sender, receiver, MBps, phase)."""
    cells = [line.split(" ") for line in text.splitlines() if not line.startswith("#")]
    return [(int(k), int(i), int(j), float(value), phase) for k, i, j, value, phase in cells]


def pairs_by_round(rows, phase="scan"):
    rounds = {}
    for number, sender, receiver, _, name in rows:
        if name == phase:
            rounds.setdefault(number, []).append((sender, receiver))
    return rounds


# ------------------------------------------------------------- the definitions, once more


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


def definition(pattern, nodes, seed=1):
    half = nodes // 2
    if pattern == "rotate":
        return {k: [(i, half + (i + k) % half) for i in range(half)] for k in range(half)}
    if pattern == "shift":
        return {k: [(i, (i + k + 1) % nodes) for i in range(nodes)] for k in range(nodes - 1)}
    if pattern == "round-robin":
        return {k: match_day(nodes, k) for k in range(2 * (nodes - 1 + nodes % 2))}
    return {k: matching(nodes, seed, k) for k in range(half)}


def match_day(nodes, number):
    """Return a round of the tournament, pair by pair from the sums of seats."""
    seats = nodes - 1 + nodes % 2
    rank = [seat + (nodes % 2 == 0 and seat >= nodes // 2) for seat in range(seats)]
    pairs = []
    for low in range(seats):
        high = (number - low) % seats
        if high > low:
            # The one in the middle is half the sum, modulo the seats; both are as far from it.
            middle = next(seat for seat in range(seats) if 2 * seat % seats == number % seats)
            away = (high - middle) % seats
            upper, lower = (high, low) if 0 < away <= seats // 2 else (low, high)
            away = (upper - middle) % seats
            turned = nodes >= 16 and low % 2 == 1 and high % 2 == 0
            pairs.append((rank[upper], rank[lower]) if (away % 2 == 1) != turned else (rank[lower], rank[upper]))
        elif high == low and nodes % 2 == 0:
            pairs.append((nodes // 2, rank[low]) if low % 2 == 1 else (rank[low], nodes // 2))
    return sorted((receiver, sender) if number >= seats else (sender, receiver) for sender, receiver in pairs)


# ------------------------------------------------------------- patterns


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_has_exactly_its_pairs(quick, pattern, ranks):
    header, rows = quick.rows(ranks, *SHORT, "--pattern", pattern)
    expected = definition(pattern, ranks)
    assert pairs_by_round(rows) == expected
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert header["nodes"] == str(ranks)
    assert header["pattern"] == pattern
    assert header["shifts"] == f"{len(expected)} of {len(expected)}"
    odd = ranks % 2 == 1 and pattern not in ("shift", "round-robin")
    host = header[f"rank {ranks - 1}"].split()[1]
    assert header["left out"] == (f"rank {ranks - 1} host {host}" if odd else "none")


@pytest.mark.parametrize("ranks", [16, 17])
def test_a_tournament_of_many_has_exactly_its_pairs(quick, ranks):
    _, rows = quick.rows(ranks, *SHORT, "--pattern", "round-robin")
    assert pairs_by_round(rows) == definition("round-robin", ranks)


@pytest.mark.parametrize(
    ("pattern", "ranks", "shifts", "said"),
    [
        ("rotate", 5, 0, ("4 of 20", "ranks 2-4", "ranks 0-1,4")),
        ("shift", 5, 2, ("10 of 20", "none", "none")),
        ("bisection", 4, 40, ("12 of 12", "none", "none")),
        ("round-robin", 5, 1, ("2 of 20", "ranks 0,2,4", "ranks 0-1,3")),
        ("round-robin", 5, 0, ("20 of 20", "none", "none")),
    ],
)
def test_what_was_not_measured_is_said(quick, pattern, ranks, shifts, said):
    header, _ = quick.rows(ranks, *SHORT, "--pattern", pattern, "--shifts", shifts)
    assert tuple(header[key] for key in ("ordered pairs", "never sender", "never receiver")) == said


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_mpi_runs_every_pattern(built, pattern):
    header, rows = built.rows(5, *SHORT, "--pattern", pattern, "--confirm", "--confirm-repeats", "1")
    assert pairs_by_round(rows) == definition(pattern, 5)
    assert all(math.isfinite(row[3]) and row[3] > 0 for row in rows)
    elapsed, transfers = (float(header[key].removesuffix(" s")) for key in ("elapsed", "transfers"))
    assert float(header["elapsed over transfers"]) == pytest.approx(elapsed / transfers, abs=1e-3)
    assert elapsed >= transfers > 0
    assert header["complete"] == f"{len(rows)} rows"


def test_matchings_follow_from_the_seed(quick):
    options = [*SHORT, "--pattern", "bisection", "--shifts", "6"]
    runs = {seed: pairs_by_round(quick.rows(8, *options, "--seed", seed)[1]) for seed in (1, 2)}
    again = pairs_by_round(quick.rows(8, *options, "--seed", 1)[1])
    assert runs[1] == again == {k: matching(8, 1, k) for k in range(6)}
    assert runs[2] != runs[1]
    for pairs in runs[2].values():
        assert sorted(node for pair in pairs for node in pair) == list(range(8))


@pytest.mark.parametrize(
    ("pattern", "shifts", "rounds", "said"),
    [
        ("shift", 3, [0, 3, 6], "3 of 7, evenly spread"),
        ("shift", 1, [0], "1 of 7, evenly spread"),
        ("rotate", 2, [0, 3], "2 of 4, evenly spread"),
        ("rotate", 9, [0, 1, 2, 3], "4 of 4"),
        ("round-robin", 4, [0, 2, 4, 6], "4 of 14, evenly spread"),
        ("round-robin", 9, [0, 1, 2, 3, 4, 5, 6, 7, 13], "9 of 14, evenly spread"),
    ],
)
def test_some_shifts_are_evenly_spread(quick, pattern, shifts, rounds, said):
    header, rows = quick.rows(8, *SHORT, "--pattern", pattern, "--shifts", shifts)
    everything = definition(pattern, 8)
    assert pairs_by_round(rows) == {number: everything[number] for number in rounds}
    assert header["shifts"] == said


# ------------------------------------------------------------- suspects

FAULTY = ["--size", "4K", "--messages", "1", "--tests", "2", "--confirm", "--confirm-repeats", "2"]
FAULTY += ["--suspect-share", "0.4", "--confirm-pause", "0"]
#: A slow one waits far longer than a loaded machine keeps a process from its processor.
SLOW = {"base_us": 2000, "factor": 20}


def median_MBps(rows, phase, of=lambda sender, receiver: True):
    values = [value for _, sender, receiver, value, name in rows if name == phase and of(sender, receiver)]
    return statistics.median(values) if values else math.nan


def require_whole(header, rows, repeats=2):
    """Check what holds for every confirmation, whatever was found."""
    if header["suspects"] == "none":
        assert {row[4] for row in rows} == {"scan"}
        return
    said = re.fullmatch(
        r"(\d+) pairs of (\d+), (\d+) senders, (\d+) receivers; (\d+) measured again, (\d+) alone", header["suspects"]
    )
    suspects, all_pairs, _, _, again, alone = map(int, said.groups())
    nodes = int(header["nodes"])
    assert all_pairs == nodes * (nodes - 1)
    together = pairs_by_round(rows, "together")
    assert len({pair for pairs in together.values() for pair in pairs}) >= again >= alone
    assert suspects >= again
    for pairs in together.values():
        for end in (0, 1):
            assert len({pair[end] for pair in pairs}) == len(pairs)
    for phase in ("together", "control", "alone"):
        rounds = pairs_by_round(rows, phase)
        assert list(rounds) == list(range(len(rounds)))
        if phase != "together":
            assert len(rounds) % repeats == 0
            assert all(rounds[k] == rounds[k % (len(rounds) // repeats)] for k in rounds)
    control, single = pairs_by_round(rows, "control"), pairs_by_round(rows, "alone")
    assert len(single) == alone * repeats
    assert len(control) <= 32 * repeats
    assert len(together) + len(control) + len(single) <= repeats / 4 * (nodes / 2 + 64 * math.log2(nodes))
    assert all(len(pairs) == 1 for pairs in [*control.values(), *single.values()])
    assert not {pairs[0] for pairs in control.values()} & {pairs[0] for pairs in single.values()}


@despite_load
def test_a_slow_pair_stays_slow_alone(built):
    header, rows = built.rows(8, *FAULTY, **SLOW, sender=1, receiver=6)
    require_whole(header, rows)
    slow = median_MBps(rows, "alone", lambda sender, receiver: (sender, receiver) == (1, 6))
    assert slow < 0.6 * median_MBps(rows, "control")
    # The other direction was measured again too, and the next ranks ran beside, unless others had one of their nodes.
    together = list(pairs_by_round(rows, "together").values())
    assert any((6, 1) in pairs for pairs in together)
    first = next(pairs for pairs in together if (1, 6) in pairs)
    busy = {node for pair in first for node in pair}
    assert {0, 5} & busy and {2, 7} & busy
    assert sum((1, 6) in pairs for pairs in together) > 1, "it stayed slow"


@despite_load
def test_a_slow_sender_is_measured_with_all_others(built):
    header, rows = built.rows(8, *FAULTY, **SLOW, sender=2)
    require_whole(header, rows)
    alone = {(sender, receiver) for _, sender, receiver, _, phase in rows if phase == "alone"}
    assert alone >= {(2, receiver) for receiver in range(8) if receiver != 2}
    assert median_MBps(rows, "alone", lambda sender, _: sender == 2) < 0.6 * median_MBps(rows, "control")
    assert all(sender != 2 for pairs in pairs_by_round(rows, "control").values() for sender, _ in pairs)
    together = {pair for pairs in pairs_by_round(rows, "together").values() for pair in pairs}
    assert together >= {(sender, 2) for sender in range(8) if sender != 2}, "it may be slow in both directions"


@despite_load
def test_a_slow_node_of_an_odd_number_is_found(quick):
    """The last one, which the pattern `rotate` leaves out."""
    header, rows = quick.rows(5, *FAULTY, "--pattern", "round-robin", "--shifts", "6", **SLOW, sender=4)
    require_whole(header, rows)
    alone = {pair for pairs in pairs_by_round(rows, "alone").values() for pair in pairs}
    assert {(4, receiver) for receiver in range(4)} <= alone


@pytest.mark.parametrize("pattern", PATTERNS)
@despite_load
def test_a_slow_receiver_is_found_in_every_pattern(quick, pattern):
    header, rows = quick.rows(8, *FAULTY, "--pattern", pattern, "--shifts", "7", **SLOW, receiver=5)
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
    header, rows = quick.rows(4, *FAULTY, "--confirm-pause", "2", **SLOW, sender=1, receiver=2)
    passed = time.monotonic() - begin
    require_whole(header, rows)
    assert pairs_by_round(rows, "alone")
    assert float(header["elapsed"].split()[0]) + 2 < passed, "the pause is not of what was measured"


def test_nothing_is_suspect_in_a_healthy_fabric(quick):
    """Waiting times that do not differ leave nothing to measure again."""
    header, rows = quick.rows(4, *FAULTY, "--suspect-share", "0.8", base_us=5000)
    assert header["suspects"] == "none"
    assert {row[4] for row in rows} == {"scan"}


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_confirmed_run_is_whole_whatever_it_finds(quick, ranks):
    for pattern in PATTERNS:
        header, rows = quick.rows(ranks, *SHORT, "--confirm", "--confirm-repeats", "3", "--pattern", pattern)
        require_whole(header, rows, repeats=3)


def test_without_confirm_the_output_says_so(quick):
    header, _ = quick.rows(2, *SHORT)
    assert header["suspects"] == "not measured again"


# ------------------------------------------------------------- everything else


def test_raw_has_every_test(quick, tmp_path):
    raw = tmp_path / "raw"
    _, rows = quick.rows(4, "--size", "1K", "--messages", "3", "--tests", "2", "--raw", raw)
    times = {}
    for line in raw.read_text().splitlines():
        phase, number, test, sender, receiver, time_us = line.split()
        times[phase, int(number), int(sender), int(receiver), int(test)] = float(time_us)
    assert len(times) == 2 * len(rows)
    for number, sender, receiver, value, phase in rows:
        best = min(times[phase, number, sender, receiver, test] for test in (0, 1))
        assert value == pytest.approx(3 * 1024 / best, rel=1e-4)


@pytest.mark.parametrize(
    ("ranks", "arguments", "message"),
    [
        (1, [], "needs 2 or more ranks but was started with 1"),
        (
            3,
            ["--pattern", "circle"],
            "--pattern: bad value 'circle'; give one of rotate, shift, bisection, round-robin",
        ),
        (3, ["--size", "0"], "--size"),
        (3, ["--size", "2G"], "--size"),
        (3, ["--messages", "0"], "--messages"),
        (3, ["--tests", "-1"], "--tests"),
        (3, ["--shifts", "some"], "--shifts"),
        (3, ["--suspect-share", "1"], "--suspect-share"),
        (3, ["--confirm=yes"], "--confirm takes no value"),
        (3, ["--raw", "/no/such/folder/raw"], "cannot create the file of --raw"),
    ],
)
def test_bad_arguments_end_every_rank_with_one_line(quick, ranks, arguments, message):
    done = quick.run(ranks, *arguments)
    require_one_line(done, message)


def test_wrong_data_end_the_program(built):
    done = built.run(4, *SHORT, "--messages", "1", program="rotate_slow", corrupt=1)
    require_one_line(done, "wrong data: byte 4095 of a message of 4096 bytes from rank 1 to rank")


def require_one_line(done, message):
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("rotate: ")]
    assert len(lines) == 1, done.stderr
    assert message in lines[0]
    assert "# complete" not in done.stdout


def test_help_states_the_method_without_a_launcher(quick):
    command = [quick.folder / "rotate", "--help"]
    done = subprocess.run(command, env=environment("impi"), capture_output=True, text=True, timeout=GUARD_S)
    assert done.returncode == 0
    for pattern in PATTERNS:
        assert re.search(rf"(?m)^  {pattern} ", done.stdout)
