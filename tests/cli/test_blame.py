# SPDX-License-Identifier: BSD-3-Clause
"""The command `fabric-checks blame` on saved outputs."""

import json
import re

import pytest
from click.testing import CliRunner

from fabric_checks.cli import main
from fabric_checks.matrices import formats
from fabric_checks.matrices.model import End, PairTable, Row
from tests.diagnosis.cross_section.model import Fabric, run, text_of
from tests.matrices.made import clusterkit_text, csv_text, matrix


def blame(*given):
    """Run the command, and return its exit status and what it printed, in single blanks."""
    done = CliRunner().invoke(main.cli, ["blame", *map(str, given)])
    return done.exit_code, " ".join(f"{done.output}{done.exception or ''}".split())


def saved(path, text):
    path.write_text(text)
    return str(path)


def rotated(path, **fabric):
    """Save the output of rotate on a fabric of 16 nodes, and return the name of the file."""
    return saved(path, text_of(run(Fabric(16, 0.01, 1, **fabric))))


def nights(folder, count, *lines, **fault):
    """Save a matrix as CSV for each of some nights, and return the names of the files."""
    texts = {
        seed: csv_text(matrix(16, seed, **fault), *lines)
        for seed in range(1, count + 1)
    }
    return [saved(folder / f"night{seed}.csv", text) for seed, text in texts.items()]


def clusterkit(path, **fault):
    return saved(path, clusterkit_text(matrix(16, 1, usual=42000.0, **fault)))


@pytest.mark.parametrize(
    "faults, status, texts",
    [
        (
            {"receivers": {12: 0.41}},
            3,
            ["node n12 receives at 41 % of the typical rate ("],
        ),
        (
            {},
            0,
            [
                "nothing stands out in what was measured",
                "of the pairs, 100.0 % reach 1.00 of a link's rate",
            ],
        ),
    ],
)
def test_a_slow_node_is_named_and_the_exit_status_says_so(
    tmp_path, faults, status, texts
):
    found, printed = blame(rotated(tmp_path / "a.txt", **faults))
    assert found == status and re.search(r"median_bandwidth \S+ MB/s", printed)
    for text in ("a.txt: rotate, 16 nodes, 64 pairs", "the slowest pair is n", *texts):
        assert text in printed


def test_several_runs_are_printed_as_json(tmp_path):
    one = rotated(tmp_path / "a.txt")
    two = rotated(tmp_path / "b.txt", receivers={12: 0.41})
    found = json.loads(
        CliRunner().invoke(main.cli, ["blame", one, two, "--json"]).stdout
    )
    assert set(found["runs"]) == {one, two}
    assert found["runs"][one]["metrics"]["median_bandwidth"] > 0
    assert set(found["units"]) == set(found["runs"][one]["metrics"])


@pytest.mark.parametrize(
    "content, message",
    [
        ("nothing\n", "format not recognized; docs/blame.md has an example"),
        (None, "No such file"),
    ],
)
def test_what_is_no_output_is_one_line(tmp_path, content, message, capsys, monkeypatch):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr("sys.argv", ["fabric-checks", "blame", str(path)])
    # An error of the file system ends the process without flushing what cannot be written.
    monkeypatch.setattr(
        "os._exit", lambda status: (_ for _ in ()).throw(SystemExit(status))
    )
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    error = capsys.readouterr().err
    assert message in error and "bad.txt" in error and error.count("\n") == 1


def test_a_bad_file_is_named_and_the_others_are_judged(tmp_path):
    good = nights(tmp_path, 2)
    bad = saved(tmp_path / "bad.csv", csv_text(matrix(16, 3))[:900])
    status, printed = blame(good[0], bad, good[1])
    assert status == 1
    assert "night2.csv: CSV, 16 nodes, 240 pairs" in printed
    assert "nothing stands out" in printed
    assert "error: " in printed
    assert "bad.csv: line 9: the last line does not end" in printed
    done = CliRunner().invoke(main.cli, ["blame", *good, bad, "--json"])
    assert "bad.csv" in json.loads(done.stdout)["refused"][0] and done.exit_code == 1
    assert blame(*good)[0] == 0
    status, printed = blame(bad, bad)
    assert status == 1 and printed.count("error: ") == 2 and "the others" not in printed


def test_a_copy_of_a_file_is_no_repeat(tmp_path):
    (path,) = nights(tmp_path, 1, "pairs: alone", node=(5, 0.7))
    for copy in (
        path,
        saved(tmp_path / "copy.csv", (tmp_path / "night1.csv").read_text()),
    ):
        status, printed = blame(path, copy)
        assert status == 1
        assert (
            f"error: {copy}: it has the same content as {path}: a copy is no second"
            in printed
        )
        assert "nobody is blamed" in printed


def test_a_host_name_cannot_move_the_cursor(tmp_path):
    text = text_of(run(Fabric(16, 0.01, 1, receivers={12: 0.41})))
    evil = text.replace("host n12", "host n\x1b[2J12")
    status, printed = blame(saved(tmp_path / "evil.txt", evil))
    assert status == 1 and "\x1b" not in printed
    assert (
        "evil.txt: line 1: the check sum in the last line is of another text" in printed
    )
    # Of another program, whose text has no check sum.
    status, printed = blame(
        saved(tmp_path / "other.txt", re.sub(", crc32 [0-9a-f]{8}", "", evil))
    )
    assert status in (0, 3) and "\x1b" not in printed and "median_bandwidth" in printed


def test_three_nights_of_another_program_name_the_slow_node(tmp_path):
    status, printed = blame(*nights(tmp_path, 3, "pairs: alone", node=(5, 0.7)))
    assert status == 3
    for text in (
        "night3.csv: CSV, 16 nodes, 240 pairs",
        "node n05 sends and receives at 70 % of the typical rate (30 of 30 pairs, measured alone)",
        "any other node slower by 7 % or more",
        "measure next, twice at least and one pair after the other: n05 to n04, n04 to n05,",
    ):
        assert text in printed
    assert "aggregate_bandwidth" not in printed and "elapsed" not in printed


def test_a_healthy_matrix_is_quiet_and_leaves_nothing_to_measure(tmp_path):
    next_file = tmp_path / "next.txt"
    status, printed = blame(*nights(tmp_path, 4), "--next", next_file)
    assert status == 0 and "nothing stands out" in printed
    assert "measure next" not in printed and next_file.read_text() == ""
    assert f"{next_file}: empty: nothing is to be measured again" in printed
    assert re.match(
        r"\S*night1.csv, \S*night2.csv, \S*night3.csv and 1 more: CSV", printed
    )


def test_one_matrix_lists_suspects_and_writes_a_hostfile(tmp_path):
    next_file = tmp_path / "hosts.txt"
    status, printed = blame(
        clusterkit(tmp_path / "bandwidth.txt", node=(5, 0.7)), "--next", next_file
    )
    assert status == 0
    for text in (
        "bandwidth.txt: ClusterKit, 16 nodes, 120 pairs",
        "node node5 sends and receives at 70 % of the typical rate (15 of 15 pairs, other pairs may",
        "measured once: chance, or traffic of others, could explain this",
        "not measured: any pair twice, so nobody is blamed",
        "not measured: the two directions of a pair by themselves",
        f"clusterkit.sh -f {next_file} --exe_opt",
        f"{next_file}: what to measure again",
    ):
        assert text in printed
    hosts = next_file.read_text().split()
    assert "node5" in hosts and len(hosts) % 2 == 0


def test_a_pair_is_blamed_only_where_it_is_known_to_have_run_alone(tmp_path):
    paths = nights(tmp_path, 2, pair=(2, 9, 0.5))
    status, printed = blame(*paths)
    assert status == 0
    assert "CSV does not say whether pairs ran so; if they did, add --alone" in printed
    status, printed = blame(*paths, "--alone")
    assert status == 3 and "n02 to n09 runs at 5" in printed


def test_a_pair_slow_in_both_directions_is_one_finding_and_comes_first(tmp_path):
    paths = []
    for seed in (1, 2):
        values = matrix(16, seed, pair=(3, 7, 0.6))
        values[7, 3] *= 0.6
        text = csv_text(values, "pairs: alone")
        paths.append(saved(tmp_path / f"{seed}.csv", text))
    done = CliRunner().invoke(main.cli, ["blame", *paths])
    lines = done.output.splitlines()
    assert done.exit_code == 3 and done.output.count("fault: ") == 1
    assert "fault: n" in lines[1] and ", and back, runs at 60 %" in lines[1]
    values = [line.split()[0] for line in lines if re.match("  [a-z_0-9]+   +", line)]
    assert lines[-len(values) :][0].split()[0] == values[0] == "median_bandwidth"
    assert "  faults                                  1" in lines


def test_a_limit_that_nothing_tells_is_no_number(tmp_path):
    path = saved(tmp_path / "a.csv", csv_text(matrix(16, 1)))
    status, printed = blame(path)
    assert status == 0 and "smallest_pair_fault cannot be told" in printed
    assert "nothing stands out in what was measured" in printed
    done = CliRunner().invoke(main.cli, ["blame", path, "--json"])
    (of_run,) = json.loads(done.stdout)["runs"].values()
    assert of_run["metrics"]["smallest_pair_fault"] is None


def test_for_nccl_tests_the_next_file_has_commands(tmp_path):
    ends = [End(f"n{number}", "gpu 0") for number in range(8)]
    rows = tuple(Row(ends[0], other, 12.0) for other in ends[1:])
    more = {"kind": "sendrecv_perf", "size_B": 1024}
    measured = PairTable("nccl-tests", "bandwidth", rows, True, both_ways=True, **more)
    text, commands = formats.again(measured, [(ends[5], ends[1])], "next.sh")
    assert commands == ["sh next.sh > again.txt"]
    assert text == (
        "mpirun -np 1 -H n5 -x CUDA_VISIBLE_DEVICES=0 sendrecv_perf -b 1024 -e 1024"
        " : -np 1 -H n1 -x CUDA_VISIBLE_DEVICES=0 sendrecv_perf -b 1024 -e 1024\n"
    )
