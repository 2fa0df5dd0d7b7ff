# SPDX-License-Identifier: BSD-3-Clause
"""A program over the nodes of a twin, by replay: layouts, values that follow, and what is wrong in one line."""

import json

import pytest
from click.testing import CliRunner

from fabric_checks.cli.commands import load
from fabric_checks.core.errors import FabricError
from fabric_checks.core.layouts import Layout
from fabric_checks.parsers import replay as parser
from fabric_twins import replay_series
from tests.twins.simulation import shipped, simgrid
from tests.twins.test_replay import write


@pytest.fixture
def traces(tmp_path):
    """Traces on one, two and four ranks: 4 s of computation in all; in pairs, each rank sends a megabyte and waits."""
    folder = tmp_path / "app"
    folder.mkdir()
    write(folder / "one", ["compute 4000000000"])
    for ranks in (2, 4):
        swap = [
            [f"irecv {rank ^ 1} 0 1000000", f"send {rank ^ 1} 0 1000000", f"wait {rank ^ 1} {rank} 0"]
            for rank in range(ranks)
        ]
        write(folder / f"n{ranks}", *[[f"compute {4000000000 // ranks}", *each] for each in swap])
    return folder


def call(*arguments):
    return CliRunner().invoke(load("replay"), list(map(str, arguments)))


def refused(*arguments):
    done = call(*arguments)
    assert isinstance(done.exception, FabricError) and done.stdout == ""
    assert "\n" not in str(done.exception)
    return str(done.exception)


@simgrid
def test_every_layout_that_the_traces_fill(traces, small):
    """A megabyte at 100 MB/s between nodes, and both ways at once; within a node it takes next to nothing."""
    file = small().file
    done = call(traces, file, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (twin,) = found["twins"]
    assert found["kind"] == "predicted" and twin["name"] == "small"
    assert list(twin["layouts"]) == ["1x1", "1x2", "2x1", "2x2", "4x1"]
    times = {layout: each["run_s"] for layout, each in twin["layouts"].items()}
    assert times["1x1"] == pytest.approx(4) and times["2x1"] == pytest.approx(2.01, abs=2e-3)
    assert times["4x1"] == pytest.approx(1.01, abs=2e-3)
    one, two = twin["layouts"]["2x1"], twin["layouts"]["1x2"]
    assert one["communication_percent"] == pytest.approx(100 * (1 - 2 / times["2x1"]))
    assert one["against_one_a_node_on_as_many_nodes_percent"] is None
    assert two["against_one_a_node_on_as_many_nodes_percent"] == pytest.approx(100 * (times["1x2"] / 4 - 1))
    expected = 100 * (times["1x2"] / times["2x1"] - 1)
    assert two["against_one_a_node_with_as_many_processes_percent"] == pytest.approx(expected)
    table = call(traces, file, "--table")
    assert table.exit_code == 0, table.output
    read = parser.parse(table.stdout, [Layout.of(layout) for layout in times])
    assert {str(layout): each.run_s for layout, each in read.items()} == pytest.approx(times)
    assert read[Layout(2, 1)].communication_percent == pytest.approx(one["communication_percent"], abs=1e-4)


@simgrid
def test_the_screen_marks_predictions(traces, small):
    done = call(traces, small().file, "--cpu-speed", 2, "--ppn", 2)
    assert done.exit_code == 0, done.output
    assert "PREDICTED by replay" in done.stdout and "processors 2 times as fast" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and "x" in line] == [
        "1x2",
        "2x2",
    ]


def test_which_layouts_fit():
    found = replay_series.layouts(shipped("escher"), [1, 2, 3, 8, 16, 32], (1, 2, 4))
    assert " ".join(map(str, found)) == "1x1 1x2 2x1 3x1 4x2 8x1 8x2"


def test_traces_that_cannot_be_replayed_are_one_line(traces, small, tmp_path):
    file = small().file
    assert refused(traces, file, file, "--table").startswith("--table takes one twin, but 2 are given; leave out")
    (traces / "again").symlink_to(traces / "n2")
    assert "n2: has 2 ranks, and so does " in refused(traces, file)
    assert "rank-0.trace: is not there" in refused(tmp_path / "none", file)
    (tmp_path / "odd").mkdir()
    write(tmp_path / "odd" / "3", *[["barrier"]] * 3)
    assert "none of the traces fills nodes of small; trace fewer ranks" in refused(tmp_path / "odd", file, "--ppn", 2)
