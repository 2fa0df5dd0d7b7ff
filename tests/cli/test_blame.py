# SPDX-License-Identifier: BSD-3-Clause
"""The command `fabric-checks blame` on saved outputs."""

import json
import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from fabric_checks.cli import main
from tests.diagnosis.cross_section.model import Fabric, run, text_of
from tests.matrices.made import clusterkit_text, csv_text, matrix


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves the output of a fabric."""

    def save(name, fabric):
        path = tmp_path / name
        path.write_text(text_of(run(fabric)))
        return str(path)

    return save


@pytest.mark.parametrize(
    ("faults", "status", "texts"),
    [
        ({"receivers": {12: 0.41}}, 1, ["node n12 receives at 0.41 of the rate of others, "]),
        ({}, 0, ["nothing stands out in what was measured", "MB/s, run 100.0 % at link/1"]),
    ],
)
def test_a_slow_node_is_named_and_the_exit_status_says_so(saved, faults, status, texts):
    done = CliRunner().invoke(main.cli, ["blame", saved("a.txt", Fabric(16, 0.01, 1, **faults))])
    assert done.exit_code == status
    printed = " ".join(done.output.split())
    for text in ("a.txt: rotate, 16 nodes, 64 pairs", "the slowest pair is n", *texts):
        assert text in printed
    assert re.search(r"median_bandwidth +\S+ MB/s\n", done.output)


def test_several_runs_are_printed_as_json(saved):
    one, two = saved("a.txt", Fabric(16, 0.01, 1)), saved("b.txt", Fabric(16, 0.01, 2))
    found = json.loads(CliRunner().invoke(main.cli, ["blame", one, two, "--json"]).output)
    assert set(found["runs"]) == {one, two}
    assert found["runs"][one]["metrics"]["median_bandwidth"] > 0
    assert set(found["units"]) == set(found["runs"][one]["metrics"])


def test_pictures_are_well_formed_and_name_the_hosts(saved, tmp_path):
    path = saved("a.txt", Fabric(16, 0.01, 1))
    done = CliRunner().invoke(main.cli, ["blame", path, "--pictures", str(tmp_path / "out")])
    assert done.exit_code == 0
    ElementTree.parse(tmp_path / "out" / "pairs.svg")
    assert ">n15<" in (tmp_path / "out" / "pairs.svg").read_text()


def test_the_link_rate_can_be_given(saved):
    path = saved("a.txt", Fabric(32, 0.01, 1, sharing=(0.4, 0.6), single_MBps=670, link_MBps=968))
    done = CliRunner().invoke(main.cli, ["blame", path, "--link-MBps", "968"])
    assert "with a link of 968 MB/s" in done.output and "link/2" in done.output


@pytest.mark.parametrize(
    ("content", "message"), [("nothing\n", "no matrix of pairs as these print it: rotate"), (None, "No such file")]
)
def test_what_is_no_output_is_one_line(tmp_path, content, message, capsys, monkeypatch):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr("sys.argv", ["fabric-checks", "blame", str(path)])
    # An error of the file system ends the process without flushing what cannot be written.
    monkeypatch.setattr("os._exit", lambda status: (_ for _ in ()).throw(SystemExit(status)))
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    error = capsys.readouterr().err
    assert message in error and "bad.txt" in error and error.count("\n") == 1


def test_a_host_name_cannot_move_the_cursor(saved, tmp_path):
    path = tmp_path / "evil.txt"
    text = text_of(run(Fabric(16, 0.01, 1, receivers={12: 0.41})))
    path.write_text(text.replace("host n12", "host n\x1b[2J12"))
    done = CliRunner().invoke(main.cli, ["blame", str(path)])
    assert done.exit_code != 0 and "\x1b" not in f"{done.output}{done.exception}"
    assert str(done.exception).endswith("line 17: '\\x1b' is no character of this program: the output is damaged")


def saved_tables(folder, count, said=("pairs: alone",), **fault):
    """Write a matrix for each of some nights, and return the names of the files."""
    paths = [folder / f"night{seed}.csv" for seed in range(1, count + 1)]
    for seed, path in enumerate(paths, 1):
        path.write_text(csv_text(matrix(16, seed, **fault), *said))
    return list(map(str, paths))


def test_three_nights_of_another_program_name_the_slow_node(tmp_path):
    done = CliRunner().invoke(main.cli, ["blame", *saved_tables(tmp_path, 3, node=(5, 0.7))])
    assert done.exit_code == 1
    printed = " ".join(done.output.split())
    for text in (
        "night3.csv: CSV, 16 nodes, 240 pairs",
        "node n05 sends and receives at 0.70 of the rate of others, 30 of 30 pairs measured alone",
        "the smallest faults that this run would have named: a node slower by",
        "measure next, twice at least and one pair after the other: n05 to n04, n04 to n05,",
    ):
        assert text in printed
    assert "aggregate_bandwidth" not in printed and "elapsed" not in printed


def test_a_healthy_matrix_is_quiet_and_leaves_nothing_to_measure(tmp_path):
    next_file = tmp_path / "next.txt"
    done = CliRunner().invoke(main.cli, ["blame", *saved_tables(tmp_path, 2), "--next", str(next_file)])
    assert done.exit_code == 0 and "nothing stands out" in done.output
    assert "measure next" not in done.output and next_file.read_text() == ""


def test_one_matrix_lists_suspects_and_writes_a_hostfile(tmp_path):
    path, next_file = tmp_path / "bandwidth.txt", tmp_path / "hosts.txt"
    path.write_text(clusterkit_text(matrix(16, 1, node=(5, 0.7), usual=42000.0)))
    done = CliRunner().invoke(main.cli, ["blame", str(path), "--next", str(next_file)])
    assert done.exit_code == 0
    printed = " ".join(done.output.split())
    for text in (
        "node node5 sends and receives at 0.70 of the rate of others, 30 of 30 pairs measured, others ran",
        "measured once: chance, or traffic of others, could explain this",
        "not measured: anything twice: nothing is certain",
        "not measured: the two directions of a pair by themselves",
        f"clusterkit.sh -f {next_file} --exe_opt",
    ):
        assert text in printed
    hosts = next_file.read_text().split()
    assert "node5" in hosts and len(hosts) % 2 == 0


def test_tables_are_printed_as_json_and_drawn(tmp_path):
    paths = saved_tables(tmp_path, 2, pair=(2, 9, 0.5))
    latency = tmp_path / "latency.txt"
    latency.write_text(clusterkit_text(matrix(16, 1, usual=1.7), "latency", "usec"))
    done = CliRunner().invoke(
        main.cli, ["blame", *paths, str(latency), "--json", "--pictures", str(tmp_path / "pictures")]
    )
    found = json.loads(done.output)
    joined = found["runs"][", ".join(paths)]
    assert done.exit_code == 1 and joined["metrics"]["faults"] == 1
    assert joined["measure_next"][0] == [["n02", ""], ["n09", ""]]
    assert found["runs"][str(latency)]["metrics"]["median_latency"] > 0
    for name in ("1-CSV", "2-ClusterKit"):
        ElementTree.parse(tmp_path / "pictures" / name / "pairs.svg")


def test_what_several_programs_should_measure_again_is_refused(tmp_path):
    (path,) = saved_tables(tmp_path, 1, node=(5, 0.7))
    other = tmp_path / "bandwidth.txt"
    other.write_text(clusterkit_text(matrix(16, 1, node=(5, 0.7), usual=42000.0)))
    done = CliRunner().invoke(main.cli, ["blame", path, str(other), "--next", str(tmp_path / "next.txt")])
    assert "what CSV and ClusterKit should measure again is not one file" in str(done.exception)


def test_a_pair_is_blamed_only_where_it_is_known_to_have_run_alone(tmp_path):
    paths = saved_tables(tmp_path, 2, (), pair=(2, 9, 0.5))
    done = CliRunner().invoke(main.cli, ["blame", *paths])
    assert done.exit_code == 0 and "CSV does not say that only one ran at a time (--alone)" in done.output
    done = CliRunner().invoke(main.cli, ["blame", *paths, "--alone"])
    assert done.exit_code == 1 and "n02 to n09 runs at 0.5" in done.output
