# SPDX-License-Identifier: BSD-3-Clause
"""The parser of `rotate`: whole outputs are read, others refused."""

import re

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import rotate, rotate_patterns
from tests import breakages
from tests.diagnosis.cross_section.model import Fabric, run, text_of


@pytest.fixture(scope="module")
def text():
    """Return the output of a run with suspects, so that all phases have rows."""
    return text_of(run(Fabric(16, 0.01, 1, senders={3: 0.5}, pairs={(5, 12): 0.5})))


def test_everything_is_read(text):
    output = rotate.parse(text)
    assert output.pattern == "rotate"
    assert output.hosts == tuple(f"n{rank}" for rank in range(16))
    assert (output.pairs, len(output.scan)) == (8, 64)
    assert output.confirmed and output.suspect_share == 0.06
    assert (output.transfers_s, output.elapsed_s) == (10000, 11000)
    assert [phase for phase in rotate.PHASES if not len(output.phases[phase])] == ["leaf"] and output.groups == ()
    assert output.scan.sender[9], output.scan.receiver[9] == (1, 8 + 2)


def with_leaf(text, groups, flows):
    """Return an output with groups and rows of the phase leaf."""
    rows = "".join(f"{number} {sender} {receiver} 900 leaf\n" for number, sender, receiver in flows)
    at = re.search(r"(?m)^.* together$", text).start()
    return (text[:at] + rows + text[at:]).replace("# shifts", f"# groups: {' '.join(map(str, groups))}\n# shifts", 1)


GROUPS = [rank // 4 for rank in range(15)] + [-1]


def test_flows_of_groups_are_read(text):
    flows = rotate_patterns.leaf_flows(GROUPS)
    whole = with_leaf(text, GROUPS, flows)
    rows = int(re.search(r"# complete: (\d+) rows", whole)[1])
    output = rotate.parse(whole.replace(f"# complete: {rows}", f"# complete: {rows + len(flows)}"))
    leaf = output.phases["leaf"]
    assert output.groups == tuple(GROUPS)
    assert list(zip(leaf.round, leaf.sender, leaf.receiver, strict=True)) == flows


@pytest.mark.parametrize(
    ("groups", "cut", "message"),
    [
        (GROUPS, 1, "phase leaf has 293 flows that are not those of its groups, which are 294"),
        (GROUPS[:-1], 0, "a number for each of 16 ranks was expected"),
        ([3, *GROUPS[1:]], 0, "groups are numbered by their lowest ranks"),
        (["x", *GROUPS[1:]], 0, "a number for each of 16 ranks was expected"),
    ],
)
def test_flows_that_are_not_those_of_the_groups_are_refused(text, groups, cut, message):
    flows = rotate_patterns.leaf_flows(GROUPS)
    whole = with_leaf(text, groups, flows[: len(flows) - cut])
    rows = int(re.search(r"# complete: (\d+) rows", whole)[1])
    with pytest.raises(OutputError, match=re.escape(message)):
        rotate.parse(whole.replace(f"# complete: {rows}", f"# complete: {rows + len(flows) - cut}"))


def test_launcher_noise_around_the_output_is_passed_over(text):
    assert len(rotate.parse("warning: no fabric\n" + text + "bye\n").scan) == 64


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pattern rotate", "pattern spiral", "an unknown pattern"),
        ("pattern rotate", "pattern shift", "16 pairs were asked for"),
        ("# shifts: 8 of 8", "# shifts: 9 of 9", "rounds of 8 pairs were asked for"),
        ("# shifts: 8 of 8", "# shifts: 8 of 7", "rounds of 8 pairs were asked for"),
        ("# shifts: 8 of 8", "# shifts: many", "how many shifts"),
        ("# transfers: 10000.0 s", "# transfers: 0 s", "seconds of 'transfers'"),
        ("# elapsed: 11000.0 s\n", "", "seconds of 'elapsed'"),
        ("# rank 7: host n7\n", "", "hosts of 16 ranks"),
        ("# ranks: 16\n", "", "'ranks'"),
        ("confirm-repeats 4", "confirm-repeats 3", "not measured 3 times"),
        ("\n0 1 9 ", "\n0 1 10 ", "not those of the pattern"),
        ("\n0 1 9 ", "\n0 2 9 ", "not those of the pattern"),
        ("\n1 0 9 ", "\n2 0 9 ", "torn, out of order"),
        ("\n0 1 9 ", "\nx 1 9 ", "a row of the columns round sender"),
        ("suspect-share 0.06", "suspect-share x", "'x' is not a number"),
    ],
)
def test_what_contradicts_itself_is_refused(text, old, new, message):
    assert old in text
    with pytest.raises(OutputError, match=re.escape(message)):
        rotate.parse(text.replace(old, new, 1))


def test_phases_out_of_order_or_unknown_are_refused(text):
    lines = text.splitlines(keepends=True)
    alone = [line for line in lines if line.endswith(" alone\n")]
    first = lines.index(next(line for line in lines if line.endswith(" scan\n")))
    others = [line for line in lines if line not in alone]
    with pytest.raises(OutputError, match="mixed up"):
        rotate.parse("".join([*others[:first], *alone, *others[first:]]))
    with pytest.raises(OutputError, match="none of the phases"):
        rotate.parse(text.replace(" alone\n", " lonely\n"))


@pytest.mark.parametrize("other", ["{sender}", "8"])
def test_a_pair_with_itself_or_with_no_rank_is_refused(golden, other):
    text = golden("rotate/mpich-5.0.2.shift.txt")
    _, sender, receiver, *_ = next(line for line in text.splitlines() if line.endswith(" together")).split()
    wrong = rf"\1 {other.format(sender=sender)} \2"
    broken = re.sub(rf"(?m)^(\d+ {sender}) {receiver} (\S+ \S+ together)$", wrong, text)
    with pytest.raises(OutputError, match="phase together has a pair that does not exist with 8 ranks"):
        rotate.parse(broken)


def test_other_patterns():
    head = "# fabric-checks rotate 1\n# ranks: 3\n" + "".join(f"# rank {r}: host n{r}\n" for r in range(3))
    tail = "# transfers: 1 s\n# elapsed: 1 s\n"
    options = "# options: size 8 messages 10 tests 3 pattern {} confirm no suspect-share 0.06 confirm-repeats 4\n"
    options += "# shifts: {}\n"
    columns = "# columns: round sender receiver MBps phase\n"
    shift = "0 0 1 5 scan\n0 1 2 5 scan\n0 2 0 5 scan\n1 0 2 5 scan\n1 1 0 5 scan\n1 2 1 5 scan\n"
    output = rotate.parse(head + options.format("shift", "2 of 2") + columns + shift + tail + "# complete: 6 rows\n")
    assert output.pairs == 3
    matching = "0 1 0 5 scan\n"
    text = head + options.format("bisection", "1 of 1") + columns + matching + tail + "# complete: 1 rows\n"
    assert np.array_equal(rotate.parse(text).scan.receiver, [0])
    with pytest.raises(OutputError, match="not those of the pattern bisection"):
        rotate.parse(text.replace("0 1 0 5", "0 1 1 5"))


def test_what_was_not_measured_is_read(golden):
    output = rotate.parse(golden("rotate/mpich-5.0.2.txt"))
    assert output.ordered_pairs == (16, 56)
    assert (output.never_senders, output.never_receivers) == ((4, 5, 6, 7), (0, 1, 2, 3))
    output = rotate.parse(golden("rotate/mpich-5.0.2.round-robin.txt"))
    assert output.ordered_pairs == (16, 56)
    assert output.never_senders == output.never_receivers == ()


def test_an_output_from_before_that_is_still_read(golden):
    """Its phases do not take turns, and it has no lines about pairs that were not measured."""
    output = rotate.parse(golden("rotate/mpich-5.0.2.shared-cores.txt"))
    assert "ordered pairs" not in output.header
    assert output.ordered_pairs == (16, 56)
    assert len(output.phases["control"]) and len(output.phases["alone"])


def test_the_slowest_test_is_no_faster_than_the_best_and_takes_its_time(golden):
    text = golden("rotate/mpich-5.0.2.round-robin.txt")
    output = rotate.parse(text)
    assert all((part.slowest_MBps <= part.MBps).all() for part in output.phases.values())
    row = next(line for line in text.splitlines() if line.endswith(" scan"))
    number, sender, receiver, best, _, phase = row.split()
    for wrong in (f"{1.1 * float(best):.6g}", "0", "-1"):
        with pytest.raises(OutputError, match="rates above 0, of the slowest test none above the best, were expected"):
            rotate.parse(text.replace(row, f"{number} {sender} {receiver} {best} {wrong} {phase}"))
    with pytest.raises(OutputError, match="'transfers' is .* s, but the slowest pairs of the tests alone take"):
        rotate.parse(text.replace(row, f"{number} {sender} {receiver} {best} 0.001 {phase}"))
    much = re.sub("(?m)^# (transfers|elapsed): .* s$", r"# \1: 99 s", text)
    with pytest.raises(OutputError, match="'transfers' is 99 s, but the slowest pairs take [0-9.]+ s at most"):
        rotate.parse(much)
    older = re.sub(
        r"(?m)^(\d+ \d+ \d+ \S+) \S+ (\w+)$", r"\1 \2", text.replace("MBps slowest_MBps phase", "MBps phase")
    )
    assert rotate.parse(older).scan.slowest_MBps is None
    with pytest.raises(OutputError, match="a row of the columns round sender receiver MBps phase was expected"):
        rotate.parse(text.replace("MBps slowest_MBps phase", "MBps phase"))


def test_a_round_of_a_tournament_that_is_not_its_own_is_refused(golden):
    text = golden("rotate/mpich-5.0.2.round-robin.txt")
    first = next(line for line in text.splitlines() if line.endswith(" scan"))
    number, sender, receiver, rest = first.split(" ", 3)
    turned = f"{number} {receiver} {sender} {rest}"
    for old, new in ((first, turned), ("# shifts: 4 of 14", "# shifts: 4 of 15")):
        assert old in text
        with pytest.raises(OutputError, match="not those of the pattern round-robin|a different number"):
            rotate.parse(text.replace(old, new))


def test_gpus_are_named_by_their_node_and_paired_by_their_number(golden):
    output = rotate.parse(golden("rotate/mpich-5.0.2.stand-in-cuda.txt"))
    assert (output.memory, output.rails, output.share) == ("cuda", 2, 2)
    assert output.hosts[:3] == ("node n0, GPU 0", "node n0, GPU 1", "node n1, GPU 0")
    assert output.nodes == ("n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3")
    assert output.ordered_pairs == (12, 8 * 3)
    host = rotate.parse(golden("rotate/mpich-5.0.2.txt"))
    assert (host.memory, host.rails, host.share, host.nodes) == ("host", 1, 1, ())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("# memory: cuda", "# memory: host", "buffers in cuda memory were asked for, but these are in 'host' memory"),
        ("# memory: cuda\n", "", "buffers in cuda memory were asked for, but these are in 'host' memory"),
        (" 0000:22:00.0", "", "one of each rank was expected"),
        ("0000:1c:00.0", "0000:1b:00.0", "ranks 0 and 1 share the GPU 0000:1b:00.0 of n0: start one process a GPU"),
        (" rails 2 ", " rails 3 ", "8 ranks are not 3 on each of two nodes or more"),
        (" adapters 1 ", " adapters 3 ", "3 adapters cannot be shared evenly by 2 ranks of a node"),
        ("# shifts: 6 of 12", "# shifts: 6 of 11", "are not 2 of each, one for each GPU of an adapter"),
        (" rails 2 adapters 1 ", " rails 4 adapters 2 ", "the header has '4' as 'nodes', but '2' ran"),
        (" rails 2 adapters 1 ", " rails 2 adapters 2 ", "the scan has 12 pairs; 6 rounds of 4 pairs"),
        ("1 7 5 38.4044 together", "1 7 4 38.4044 together", "a pair that does not exist"),
    ],
)
def test_gpus_that_are_not_as_the_options_have_them_are_refused(golden, old, new, why):
    text = golden("rotate/mpich-5.0.2.stand-in-cuda.txt")
    assert text.count(old) == 1
    with pytest.raises(OutputError, match=re.escape(why)):
        rotate.parse(text.replace(old, new))


PROGRESS = "rotate: round 3 of 9, about 5 s left\n"


def test_progress_that_a_launcher_puts_into_the_output_is_passed_over(golden):
    """Standard error comes at any time, so also where a part of a line was written."""
    text = golden("rotate/mpich-5.0.2.txt")
    whole = repr(rotate.parse(text))
    lines = text.splitlines(keepends=True)
    for place in range(len(lines) + 1):
        assert repr(rotate.parse("".join([*lines[:place], PROGRESS, *lines[place:]]))) == whole
    start = text.index("# columns")
    for at in range(start, start + 300):
        assert repr(rotate.parse(text[:at] + PROGRESS + text[at:])) == whole
    spread = "".join(line + PROGRESS.replace("round", "alone, pair") for line in lines)
    assert repr(rotate.parse(spread)) == whole


def test_what_is_no_progress_is_not_passed_over(golden):
    lines = golden("rotate/mpich-5.0.2.txt").splitlines(keepends=True)
    row = next(index for index, line in enumerate(lines) if breakages.is_row(line))
    for line in ("rotate: not enough memory\n", PROGRESS.replace("rotate", "streaming")):
        with pytest.raises(OutputError, match=rf"line {row + 2}: "):
            rotate.parse("".join([*lines[: row + 1], line, *lines[row + 1 :]]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("confirm-repeats 4", "confirm-repeats 0", "has 0 for 'confirm-repeats', which must be at least 1"),
        ("# ranks: 8", "# ranks: 1", "does not name the hosts of 1 ranks in order"),
        ("# ranks: 8", "# ranks: 9", "does not name the hosts of 9 ranks in order"),
        ("# ranks: 8\n", "# ranks: 8\n# ranks: 9\n", "the header gives 'ranks' twice, with different values"),
        ("# ranks: 8\n", "# complete: 1 rows\n# ranks: 8\n", "several lines '# complete: ...'"),
        ("# columns: round", "# columns: sender", "the table has 'sender' where 'round' was expected"),
        ("# complete:", "# columns: a\n# complete:", "a line '# key: value' was expected"),
        ("# complete:", "# complete: rows 3\n# complete:", "several lines '# complete: ...'"),
        ("over transfers: ", "over transfers: 1", "but the seconds give"),
        ("confirm yes", "confirm maybe", "the option 'confirm' is 'maybe', neither yes nor no"),
        ("# elapsed: 6.9", "# elapsed: 0.9", "'elapsed' is 0.93588 s, but the transfers alone take 2.68879 s"),
        ("size 65536", "size x", "the header's whole number for 'size' was expected, found 'x'"),
        (
            "suspects: 16 pairs",
            "suspects: 0 pairs",
            "'suspects' is '0 pairs of 56, .* 43 together, 52 control",
        ),
        ("16 measured again, 6 alone", "16 measured again, 5 alone", "but measured again are .*, 24 alone"),
        ("# suspects: 16 pairs", "# suspects: x pairs", "'suspects' is 'x pairs"),
        ("# suspects: 16 pairs", "# suspects: 57 pairs", "'suspects' is '57 pairs of 56"),
        ("# suspects: 16 pairs", "# suspects: 15 pairs", "'suspects' is '15 pairs of 56"),
        ("16 pairs of 56", "16 pairs of 560", "'suspects' is '16 pairs of 560"),
        ("0 senders, 0 receivers", "0 senders", "'suspects' is '16 pairs of 56, 0 senders;"),
        ("confirm yes", "confirm no", "but measured again are 43 together"),
    ],
)
def test_a_real_output_that_contradicts_itself_is_refused(golden, old, new, message):
    text = golden("rotate/mpich-5.0.2.txt")
    assert old in text
    with pytest.raises(OutputError, match=message):
        rotate.parse(text.replace(old, new))


@pytest.mark.parametrize("phase", ["scan", "together", "control", "alone"])
def test_a_rate_so_low_that_all_transfers_together_were_faster_is_refused(golden, phase):
    text = golden("rotate/mpich-5.0.2.txt")
    broken = re.sub(rf"(?m)^(\d+ \d+ \d+) \S+ {phase}$", rf"\1 0.25 {phase}", text, count=1)
    assert broken != text
    with pytest.raises(OutputError, match="'transfers' is 2.68879 s, but the slowest pairs of the tests alone"):
        rotate.parse(broken)


def test_flows_at_once_are_smaller_messages(text):
    """With whole messages the flows alone would take 1.7 s, and all transfers more than 93 s."""
    flows = rotate_patterns.leaf_flows(GROUPS)
    whole = with_leaf(text, GROUPS, flows).replace("10000.0 s", "93 s").replace("11000.0 s", "94 s")
    rows = int(re.search(r"# complete: (\d+) rows", whole)[1])
    whole = whole.replace(f"# complete: {rows}", f"# complete: {rows + len(flows)}")
    assert rotate.parse(whole).transfers_s == 93
    with pytest.raises(OutputError, match="the slowest pairs of the tests"):
        rotate.parse(whole.replace(" 900 leaf", " 0.9 leaf", 1))


def test_the_line_about_suspects_is_missing_in_older_outputs_only(golden):
    for name in ("mpich-5.0.2", "mpich-5.0.2.round-robin"):
        cut = re.sub(r"# suspects: .*\n", "", golden(f"rotate/{name}.txt"))
        if "slowest_MBps" in cut:
            with pytest.raises(OutputError, match="'suspects' is 'missing', but measured again are"):
                rotate.parse(cut)
        else:
            assert rotate.parse(cut).confirmed


def test_nothing_is_measured_again_without_suspects(golden):
    text = golden("rotate/mpich-5.0.2.txt")
    with pytest.raises(OutputError, match="'suspects' is 'none', but measured again are 43 together"):
        rotate.parse(re.sub(r"suspects: .*", "suspects: none", text))
