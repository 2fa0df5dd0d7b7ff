# SPDX-License-Identifier: BSD-3-Clause
"""The parser of `rotate`: whole outputs are read, others refused."""

import re

import numpy as np
import pytest

from fabric_checks.parsers import rotate
from lab.rotate import patterns
from lab.rotate.leaf_flows import leaf_flows
from tests import breakages
from tests.breakages import refused
from tests.diagnosis.cross_section.model import Fabric, run, text_of
from tests.own_outputs import changed


@pytest.fixture(scope="module")
def text():
    """Return the output of a run with suspects, so that all phases have rows."""
    return text_of(run(Fabric(16, 0.01, 1, senders={3: 0.5}, pairs={(5, 12): 0.5})))


def test_everything_is_read(text):
    output = rotate.parse(text)
    assert output.pattern == "rotate"
    assert output.hosts == tuple(f"n{rank}" for rank in range(16))
    assert output.pairs == 8
    assert len(output.scan) == 64
    assert output.confirmed and output.suspect_share == 0.06
    assert output.transfers_s == 10000
    assert output.elapsed_s == 11000
    assert [phase for phase in rotate.PHASES if not len(output.phases[phase])] == [
        "leaf",
        "both",
        "both-alone",
    ] and output.groups == ()
    assert output.scan.sender[9] == 1
    assert output.scan.receiver[9] == 8 + 2


@pytest.mark.parametrize("pattern", ["rotate", "shift", "round-robin"])
def test_the_pairs_of_a_real_scan_are_those_of_its_pattern(golden, pattern):
    scan = rotate.parse(golden(f"rotate/mpich-5.0.2.{pattern}.txt")).scan
    pairs = patterns.pairs(pattern, 8, np.unique(scan.round))
    assert np.array_equal(
        (scan.sender, scan.receiver), [each.ravel() for each in pairs]
    )


GROUPS = [rank // 4 for rank in range(15)] + [-1]


def with_groups(text, groups, flows=()):
    """Return an output with groups and rows of the phase leaf."""
    rows = "".join(
        f"{number} {sender} {receiver} 900 900 leaf\n"
        for number, sender, receiver in flows
    )
    at = re.search(r"(?m)^.* together$", text).start()
    text = (
        text[:at] + rows + text[at:].replace("complete: ", f"complete: {len(flows)} + ")
    )
    count = sum(map(int, re.search(r"complete: (\d+) \+ (\d+)", text).groups()))
    text = re.sub(r"complete: \d+ \+ \d+", f"complete: {count}", text)
    return changed(text, "# groups: none", f"# groups: {' '.join(map(str, groups))}")


def test_flows_of_groups_are_read(text):
    flows = leaf_flows(GROUPS)
    output = rotate.parse(with_groups(text, GROUPS, flows))
    leaf = output.phases["leaf"]
    assert output.groups == tuple(GROUPS)
    assert list(zip(leaf.round, leaf.sender, leaf.receiver, strict=True)) == flows


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("pattern rotate", "pattern spiral", "an unknown pattern"),
        (
            "pattern rotate",
            "pattern shift",
            "the scan has 64 pairs; 8 rounds of 16 were asked for",
        ),
        (
            "# transfers: 10000.0 s",
            "# transfers: 0 s",
            "the header's time 'transfers' in seconds is 0",
        ),
        ("suspect-share 0.06", "suspect-share x", "'x' is not a number"),
    ],
)
def test_what_contradicts_itself_is_refused(text, old, new, message):
    with refused(re.escape(message)):
        rotate.parse(changed(text, old, new))


def test_what_was_not_measured_is_read(golden):
    output = rotate.parse(golden("rotate/mpich-5.0.2.txt"))
    assert output.ordered_pairs == (16, 56)
    assert output.one_way_ranks == set(range(8))
    output = rotate.parse(golden("rotate/mpich-5.0.2.round-robin.txt"))
    assert output.ordered_pairs == (16, 56)
    assert output.one_way_ranks == set()


def test_gpus_are_named_by_their_node_and_paired_by_their_number(golden):
    output = rotate.parse(golden("rotate/mpich-5.0.2.stand-in-cuda.txt"))
    assert output.memory == "cuda"
    assert output.rails == 2
    assert output.share == 2
    assert output.hosts[:3] == ("node n0, GPU 0", "node n0, GPU 1", "node n1, GPU 0")
    assert output.nodes == ("n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3")
    assert output.ordered_pairs == (12, 8 * 3)
    host = rotate.parse(golden("rotate/mpich-5.0.2.txt"))
    assert host.memory == "host"
    assert host.rails == 1
    assert host.share == 1
    assert host.nodes == ()


@pytest.mark.parametrize(
    "old, new, why",
    [
        (
            "# memory: cuda",
            "# memory: host",
            "buffers in cuda memory were asked for, but these are in 'host' memory",
        ),
        (" 0000:22:00.0", "", "one of each rank was expected"),
        (
            "0000:1c:00.0",
            "0000:1b:00.0",
            "ranks 0 and 1 share the GPU 0000:1b:00.0 of n0: start one process a GPU",
        ),
        (
            " rails 2 adapters 1 ",
            " rails 2 adapters 2 ",
            "the scan has 12 pairs; 6 rounds of 4 were asked for",
        ),
    ],
)
def test_gpus_that_are_not_as_the_options_have_them_are_refused(golden, old, new, why):
    with refused(re.escape(why)):
        rotate.parse(changed(golden("rotate/mpich-5.0.2.stand-in-cuda.txt"), old, new))


def test_exchanges_are_read_in_both_directions(golden):
    output = rotate.parse(golden("rotate/mpich-5.0.2.both-ways.txt"))
    both, alone = (output.phases[phase] for phase in rotate.EXCHANGES)
    assert (len(both), len(alone)) == (12, 16)
    assert np.array_equal(both.receiver[both.sender == 2], [3, 1])
    assert alone.round.tolist() == [0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 9]


@pytest.mark.parametrize(
    "old, new, why",
    [
        (
            "both-ways yes",
            "both-ways no",
            "both has 12 rows and both-alone 16; of both 0",
        ),
        (
            " both-ways yes",
            "",
            "both has 12 rows and both-alone 16; of both 0 were asked",
        ),
        ("\n1 2 1 ", "\n1 2 3 ", "has a pair of which a direction is missing"),
        ("\n5 3 1 ", "\n5 3 2 ", "has a pair of which a direction is missing"),
        ("\n5 3 1 ", "\n4 3 1 ", "has a pair of which a direction is missing"),
        ("\n9 1 2 ", "\n8 1 2 ", "has a pair of which a direction is missing"),
        ("\n9 1 2 ", "\n9 2 1 ", "has a pair of which a direction is missing"),
    ],
)
def test_exchanges_that_are_not_as_asked_for_are_refused(golden, old, new, why):
    text = golden("rotate/mpich-5.0.2.both-ways.txt")
    with refused(re.escape(why)):
        rotate.parse(changed(text, old, new))


PROGRESS = "rotate: round 3 of 9, about 5 s left\n"


def test_progress_that_a_launcher_puts_into_the_output_is_passed_over(golden):
    """Standard error comes at any time, so also where a part of a line was written."""
    text = golden("rotate/mpich-5.0.2.txt")
    whole = repr(rotate.parse(text))
    lines = text.splitlines(keepends=True)
    for place in range(0, len(lines) + 1, 9):
        assert (
            repr(rotate.parse("".join([*lines[:place], PROGRESS, *lines[place:]])))
            == whole
        )
    start = text.index("# columns")
    for at in range(start, start + 300, 9):
        assert repr(rotate.parse(text[:at] + PROGRESS + text[at:])) == whole
    spread = "".join(line + PROGRESS.replace("round", "alone, pair") for line in lines)
    assert repr(rotate.parse(spread)) == whole


def test_what_is_no_progress_is_not_passed_over(golden):
    lines = golden("rotate/mpich-5.0.2.txt").splitlines(keepends=True)
    row = next(index for index, line in enumerate(lines) if breakages.is_row(line))
    for line in (
        "rotate: not enough memory\n",
        PROGRESS.replace("rotate", "streaming"),
    ):
        with refused("the check sum in the last line is of another text"):
            rotate.parse("".join([*lines[: row + 1], line, *lines[row + 1 :]]))


def test_an_output_of_another_program_in_this_form_may_lack_check_sum_and_groups(text):
    """A model of a fabric that others wrote has to be read, too."""
    plain = re.sub(r", crc32 [0-9a-f]{8}\n", "\n", text).replace("# groups: none\n", "")
    assert plain.endswith(" rows\n") and "groups" not in plain
    read, whole = rotate.parse(plain), rotate.parse(text)
    assert read.groups == () and read.hosts == whole.hosts
    assert np.array_equal(read.scan.MBps, whole.scan.MBps)
