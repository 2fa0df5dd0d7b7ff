# SPDX-License-Identifier: BSD-3-Clause
"""Replay: a traced program takes as long on a twin as the same program simulated there; what is wrong is one
line."""

import json
from functools import partial
from pathlib import Path

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.core.layouts import Layout
from fabric_twins import replay
from fabric_twins.model import platform_file
from fabric_twins.simulate import Bounds
from lab.replay import known_twin
from tests import calling
from tests.fabric import test_profile
from tests.twins.simulation import shipped, simgrid

PROGRAM = Path(__file__).parent / "replayed.c"
RANKS, STEPS, SECONDS = 4, 12, 0.004
mpich, build = test_profile.mpich, test_profile.build
HEAD = "# fabric-checks trace 1\n# rank: {} of {}\n# flops/s: 1000000000\n"


def write(folder, *ranks):
    """Write a trace of actions; return its folder."""
    folder.mkdir(exist_ok=True)
    for number, actions in enumerate(ranks):
        lines = [f"{number} {action}" for action in ("init", *actions, "finalize")]
        text = (
            HEAD.format(number, len(ranks))
            + "\n".join(lines)
            + f"\n# complete: {len(lines)} actions\n"
        )
        (folder / f"rank-{number}.trace").write_text(text)
    return folder


@pytest.fixture
def pair(tmp_path):
    """A trace of two ranks: a second of computation, a message, and another second."""
    return write(
        tmp_path / "pair",
        ["compute 1000000000", "send 1 0 1000000"],
        ["irecv 0 0 1000000", "compute 500000000", "wait 0 1 0", "compute 1000000000"],
    )


call = partial(calling.invoke, "replay")


def refused(*arguments):
    """Return the one line of an error; standard output stays empty."""
    done = call(*arguments)
    assert isinstance(done.exception, FabricError) and done.stdout == ""
    assert "\n" not in str(done.exception)
    return str(done.exception)


def arguments(what, folder):
    return [what, str(STEPS), str(SECONDS), f"{folder}/computed"]


@pytest.fixture(scope="module")
def traces(mpich):
    """Return traces of the program as it runs with MPICH, by what it does."""
    program = mpich.folder / "replayed"
    mpich.do("mpicc", "-O2", PROGRAM, "-o", program)
    found = {}
    for what in ("halo", "allreduce"):
        folder = mpich.folder / f"trace-{what}"
        folder.mkdir()
        done = mpich.run(
            RANKS, "env", f"FABRIC_TRACE={folder}", program, *arguments(what, folder)
        )
        assert done.returncode == 0, done.stderr
        found[what] = replay.load_trace(folder)
    return found


@simgrid
@pytest.mark.parametrize("name, ppn", [("escher", 2), ("rogue-gige", 1)])
@pytest.mark.parametrize("what", ["halo", "allreduce"])
def test_a_replay_takes_as_long_as_the_program_itself(
    traces, simulator, what, name, ppn
):
    twin = shipped(name)
    layout = Layout(RANKS // ppn, ppn)
    platform = platform_file.platform(twin, flops=1e9)
    done = simulator.run(
        twin,
        layout.nodes,
        ppn,
        PROGRAM,
        *arguments(what, traces[what].folder),
        platform=platform,
    )
    assert done.stdout.endswith("# complete: 1 row\n"), done.stderr
    truth = float(done.stdout.split()[0])
    found = replay.run_s(twin, layout, traces[what], 1.0, Bounds())
    print(
        f"{what} on {name} {layout}: {truth} s, replayed {found} s: {100 * (found / truth - 1):+.2f} %"
    )
    assert found == pytest.approx(truth, rel=0.02)


@simgrid
def test_microbenchmarks_describe_a_twin_as_it_is(simulator, small, tmp_path):
    twin = small(
        ("eager_below_B: 16384", "eager_below_B: 131072\n  in_turn_below_B: 65536")
    )
    found, eager_below_B = known_twin.described_again(simulator, twin, tmp_path)
    assert found.eager_below_B == twin.eager_below_B == eager_below_B
    assert found.inter_node.in_turn_below_B == twin.inter_node.in_turn_below_B
    assert found.inter_node.rate_MBps == pytest.approx(
        twin.inter_node.rate_MBps, rel=0.01
    )
    assert found.host_bus.together_MBps == pytest.approx(
        2 * twin.inter_node.rate_MBps, rel=0.01
    )
    for ours, theirs in known_twin.costs_us(found, twin).values():
        assert ours == pytest.approx(theirs, abs=0.3)


@simgrid
@pytest.mark.parametrize(
    "key, size, to, expected",
    [
        ("", 50000, 1, 2),
        ("0", 50000, 2, 2),
        ("65536", 50000, 2, 1),
        ("65536", 65536, 2, 2),
    ],
)
def test_messages_leave_in_turn_or_share_the_link(
    small, tmp_path, key, size, to, expected
):
    """The first of two takes its own time, or that of both; together they take the same."""
    eager = "eager_below_B: 131072"
    twin = small(
        ("eager_below_B: 16384", f"{eager}\n  in_turn_below_B: {key}" if key else eager)
    )
    second = ["recv 0 1 50000".replace("50000", str(size))]
    other = [f"recv 0 0 {size}", "compute 10000000"]
    other = [*other, *second] if to == 1 else other
    sends = [f"isend 1 0 {size}", f"isend {to} 1 {size}", "waitall"]
    trace = replay.load_trace(
        write(tmp_path / "t", sends, other, second if to == 2 else [])
    )
    # What rank 1 computes behind the first message ends the run: 10 ms, and more than the second message.
    found = replay.run_s(twin, Layout(3, 1), trace, 1, Bounds()) - 0.01
    assert found == pytest.approx(expected * size / 100e6, rel=0.03)


@simgrid
def test_run_time_shares_and_sensitivity_follow_from_the_trace(pair, small):
    """A megabyte at 100 MB/s between two seconds of computation; half a second is hidden behind it, or
    not."""
    (series,) = replay.run(
        replay.load(pair), [("", small())], (1,), 1, Bounds(), sensitivity=True
    )
    found = series.points[Layout(2, 1)]
    # The receiver is later: it has waited for its message to the end, and then computes.
    assert found.run_s == pytest.approx(1 + 0.01 + 1, abs=1e-4)
    assert found.communication_percent == pytest.approx(
        100 * (1 - 1.25 / 2.01), abs=0.01
    )
    worse, better = found.change_percent("bandwidth")
    assert (worse, better) == pytest.approx(
        (100 * 0.01 / 9 / 2.01, -100 * 0.01 / 11 / 2.01), abs=2e-3
    )
    worse, better = found.change_percent("CPU speed")
    assert (worse, better) == pytest.approx(
        (100 * 2 / 9 / 2.01, -100 * 2 / 11 / 2.01), abs=2e-3
    )
    assert found.change_percent("latency") == pytest.approx((0, 0), abs=1e-3)


def test_only_the_named_quantity_is_changed(small):
    twin = small()
    slower = replay.changed(twin, "latency", 0.9)
    assert slower.inter_node.latency_us[0][1] == pytest.approx(3.3)
    assert slower.topology == twin.topology
    slower = replay.changed(twin, "message rate", 0.9).inter_node
    assert (slower.send_us[0][1], slower.receive_us[0][1]) == pytest.approx(
        (1 / 0.9, 1 / 0.9)
    )
    slower = replay.changed(twin, "bandwidth", 0.9)
    assert (slower.inter_node.rate_MBps, slower.topology.link_MBps) == pytest.approx(
        (90, 90)
    )
    assert replay.changed(twin, "CPU speed", 0.9) == twin
    assert slower.intra_node == twin.intra_node


@simgrid
def test_processors_that_are_faster_and_alternatives(pair, small):
    twin = small()
    twin.file.write_text(
        twin.file.read_text()
        + "plan: as bought\nalternatives:\n- {name: faster, inter_node: {rate_MBps: 200}, topology:"
        " {link_MBps: 200}}\n"
    )
    done = call(pair, twin.file, "--cpu-speed", 2, "--ppn", 1, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["twins"]] == [
        "small: as bought",
        "small: faster",
    ]
    assert [
        each["layouts"]["2x1"]["run_s"] for each in found["twins"]
    ] == pytest.approx([1.01, 1.005], abs=1e-4)
    assert found["kind"] == "predicted" and found["cpu_speed"] == 2
    assert all("sensitivity" not in each["layouts"]["2x1"] for each in found["twins"])


@simgrid
def test_every_action_is_one_that_simgrid_knows(small, tmp_path):
    """And its arguments are as many as SimGrid wants, on 2 ranks as on 3."""
    for ranks in (2, 3):
        counts = " ".join(["8"] * ranks)
        actions = [
            "barrier",
            "bcast 8 1 0",
            "reduce 8 0 1 0",
            "allreduce 8 0 0",
            "scan 8 0 0",
            "exscan 8 0 0",
            "gather 8 8 1 0 0",
            "scatter 8 8 1 0 0",
            "allgather 8 8 0 0",
            "alltoall 8 8 0 0",
            f"gatherv 8 {counts} 1 0 0",
            f"scatterv {counts} 8 1 0 0",
            f"allgatherv 8 {counts} 0 0",
            f"reducescatter {counts} 0 0",
            f"alltoallv {8 * ranks} {counts} {8 * ranks} {counts} 0 0",
        ]
        first = [
            *actions,
            "isend 1 1073741824 100",
            "wait 0 1 1073741824",
            "send 1 0 70000",
        ]
        second = [*actions, "irecv 0 1073741824 100", "irecv 0 0 70000", "waitall"]
        trace = replay.load_trace(
            write(tmp_path / str(ranks), first, second, *[actions] * (ranks - 2))
        )
        assert 1e-4 < replay.run_s(small(), Layout(ranks, 1), trace, 1, Bounds()) < 1


@simgrid
def test_collectives_that_are_replaced_are_named(small):
    assert replay.replaced("own", small(added="collectives: ompi\n")) == []
    (line,) = replay.replaced("other", small(added="collectives: mpich\n"))
    assert line.startswith("collectives of other: SimGrid's own")
    assert "those of mpich, but for alltoall," in line


def of_all(ranks, size):
    """Return a collective of each kind that SimGrid may choose an algorithm for."""
    each = " ".join([str(size)] * ranks)
    return [
        *(f"{name} {size} 0 0" for name in ("allreduce", "bcast")),
        f"reduce {size} 0 0 0",
        *(f"{name} {size} {size} 0 0 0" for name in ("gather", "scatter")),
        *(f"{name} {size} {size} 0 0" for name in ("allgather", "alltoall")),
        f"allgatherv {size} {each} 0 0",
        f"reducescatter {each} 0 0",
        f"alltoallv {ranks * size} {each} {ranks * size} {each} 0 0",
        "barrier",
    ]


@simgrid
@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.parametrize("collectives", ["mpich", "impi"])
def test_a_replay_takes_the_collectives_that_it_survives(
    small, tmp_path, collectives, ranks
):
    folder = write(
        tmp_path / "t",
        *[[line for size in (1, 500, 50000) for line in of_all(ranks, size)]] * ranks,
    )
    given = [small(added=f"collectives: {each}\n") for each in ("default", collectives)]
    own, found = (
        replay.run_s(twin, Layout(ranks, 1), replay.load_trace(folder), 1, Bounds())
        for twin in given
    )
    assert (found == own) == (collectives == "impi") and found > 0


@simgrid
def test_the_command_marks_predictions(pair, small):
    done = call(pair, small().file, "--sensitivity", "--ppn", 1)
    assert done.exit_code == 0, done.output
    assert (
        f"PREDICTED by replay of {pair}, not measured; processors 1 times as fast"
        in done.stdout
    )
    (changes,) = [
        line
        for line in done.stdout.splitlines()
        if line.split()[:1] == ["small"] and "/" in line
    ]
    assert len(changes.split("/")) == 5


@simgrid
def test_a_trace_of_ranks_that_wait_for_each_other(small, tmp_path):
    folder = write(tmp_path / "t", ["recv 1 0 8"], ["recv 0 0 8"])
    assert "the simulated ranks wait for each other (deadlock)" in refused(
        folder, small().file
    )


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_trace_of_two_runs_gives_no_number(pair, small):
    edit(pair / "rank-0.trace", "# flops/s: 1", "# flops/s: 2")
    cause = "rank-1.trace: belongs to a different trace than that of rank 0"
    assert cause in refused(pair, small().file)


def test_a_lost_rank_and_one_too_many(pair, small):
    (pair / "rank-1.trace").rename(pair / "rank-2.trace")
    assert "rank-1.trace: is not there; is it a folder that" in refused(
        pair, small().file
    )
    (pair / "rank-1.trace").write_bytes(
        (pair / "rank-2.trace").read_bytes().replace(b"# rank: 2", b"# rank: 1")
    )
    assert "has files from more ranks than 2; trace into an empty folder" in refused(
        pair, small().file
    )
    assert "rank-0.trace: is not there" in refused(pair / "none", small().file)


def test_layouts_are_those_that_the_ranks_fill(pair, small):
    found = replay.layouts(shipped("escher"), [1, 2, 3, 8, 16, 32], (1, 2, 4))
    assert " ".join(map(str, found)) == "1x1 1x2 2x1 3x1 4x2 8x1 8x2"
    assert "2 ranks fill none of the 8 nodes" in refused(pair, small().file, "--ppn", 3)


@pytest.fixture
def series(tmp_path):
    """Traces on one, two and four ranks: 4 s of computation in all; in pairs, each rank sends a megabyte and
    waits."""
    folder = tmp_path / "app"
    folder.mkdir()
    write(folder / "one", ["compute 4000000000"])
    for ranks in (2, 4):
        swap = [
            [
                f"irecv {rank ^ 1} 0 1000000",
                f"send {rank ^ 1} 0 1000000",
                f"wait {rank ^ 1} {rank} 0",
            ]
            for rank in range(ranks)
        ]
        write(
            folder / f"n{ranks}",
            *[[f"compute {4000000000 // ranks}", *each] for each in swap],
        )
    return folder


@simgrid
def test_traces_of_several_numbers_of_ranks_are_compared_by_layout(series, small):
    """A megabyte at 100 MB/s between nodes, and both ways at once; within a node it takes next to nothing."""
    file = small().file
    done = call(series, file, "--json")
    assert done.exit_code == 0, done.output
    (twin,) = json.loads(done.stdout)["twins"]
    assert list(twin["layouts"]) == ["1x1", "1x2", "2x1", "2x2", "4x1"]
    times = {layout: each["run_s"] for layout, each in twin["layouts"].items()}
    assert times["1x1"] == pytest.approx(4) and times["2x1"] == pytest.approx(
        2.01, abs=2e-3
    )
    assert times["4x1"] == pytest.approx(1.01, abs=2e-3)
    one, two = twin["layouts"]["2x1"], twin["layouts"]["1x2"]
    assert one["communication_percent"] == pytest.approx(100 * (1 - 2 / times["2x1"]))
    assert one["against_one_a_node_on_as_many_nodes_percent"] is None
    assert two["against_one_a_node_on_as_many_nodes_percent"] == pytest.approx(
        100 * (times["1x2"] / 4 - 1)
    )
    expected = 100 * (times["1x2"] / times["2x1"] - 1)
    assert two["against_one_a_node_with_as_many_processes_percent"] == pytest.approx(
        expected
    )


def test_traces_that_cannot_be_told_apart_are_refused(series, small):
    file = small().file
    (series / "again").symlink_to(series / "n2")
    assert "n2: has 2 ranks, and so does " in refused(series, file)
