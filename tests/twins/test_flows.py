# SPDX-License-Identifier: BSD-3-Clause
"""rotate by flows, compared with shares worked out anew at each event, and with SimGrid."""

import json
import subprocess

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from fabric_checks.cli.main import cli
from fabric_checks.diagnosis.fabric_map.sharing import max_min
from fabric_twins import flows, plan, simgrid, what_if
from fabric_twins.errors import TwinError
from fabric_twins.model.platform_file import platform
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import with_faults
from fabric_twins.simulate import Bounds
from lab import flows_against_simgrid as trial
from tests.twins import simulation
from tests.twins.conftest import SMALL

SIZE_B, LATENCY_S, ENVELOPE_B = 1 << 20, 3e-4, 16
TREE = """\
nodes: 24
topology:
  kind: fat_tree
  ports: 8
  levels: 3
  link_MBps: 90
  oversubscription: 1
  routing: {kind: destination-table, seed: 3}
faults:
- {host: n05, fraction: 0.5}
- {cable: [leaf-1, level-2-2], fraction: 0.3}
- {cable: [leaf-2, level-2-0], fraction: 0}
"""


def fluid(ways, capacity, begins):
    """Return when transfers of one message end: of all that run the max-min rates, from each event to the next."""
    left, ends = np.full(len(begins), float(SIZE_B + ENVELOPE_B)), np.full(len(begins), np.nan)
    now = 0.0
    while np.isnan(ends).any():
        active = np.flatnonzero((begins <= now) & np.isnan(ends))
        rate = max_min(ways[active], capacity) if len(active) else np.empty(0)
        coming = begins[begins > now]
        step = min([*(left[active] / rate), *(coming - now)])
        now = coming.min() if len(coming) and step == (coming - now).min() else now + step
        left[active] -= rate * step
        ends[active[left[active] < 1e-3]] = now
    return ends


def test_the_shares_are_those_of_all_flows_worked_out_at_each_event(small):
    """Without costs of senders and receivers there are latencies, the barrier's tree, transfers, acknowledgements."""
    begin = SMALL.index("topology:")
    twin = small(
        ("send_us: {0: 1, 1024: 2}", "send_us: 0"),
        ("receive_us: 1", "receive_us: 0"),
        ("latency_us: 3", "latency_us: 300"),
        ("nodes: 8\n", ""),
        (SMALL[begin:], ""),
        added=TREE,
    )
    found = flows.matrix(twin, SIZE_B, 0, Bounds())
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    ways = routes(wiring, twin.routing)
    cables = [wiring.cables[arc.cable].rate_MBps for arc in ways.arcs]
    hosts = [100 * wiring.host_fraction.get(host, 1.0) for host in range(24)]
    capacity = np.array([*cables, *hosts, *hosts, np.inf]) * 1e6
    level = len(cables)
    hop = LATENCY_S + ENVELOPE_B / 90e6
    for shift in range(12):
        receivers = [12 + (sender + shift) % 12 for sender in range(12)]
        table = np.full((12, 9), len(capacity) - 1)
        for sender, receiver in enumerate(receivers):
            way = ways.way(wiring, sender, receiver)
            table[sender, : len(way) + 2] = [*way, level + sender, level + 24 + receiver]
        exits = np.array([sender.bit_count() for sender in range(12)]) * hop
        ends = fluid(table, capacity, exits + 1e-7 + LATENCY_S)
        expected = SIZE_B / (ends - exits + hop) / 1e6
        assert found.MBps[np.arange(12), np.array(receivers) - 12] == pytest.approx(
            expected,
            rel=1e-4,  # what 16 bytes take differs
        )
    assert len(set(np.round(found.measured, 1))) > 15  # they do share, and not all alike


@simulation.simgrid
@pytest.mark.parametrize("case", ["fat tree, random, faults", "fat tree, half duplex", "dragonfly"])
def test_simgrid_gives_the_same(case, tmp_path):
    flowing, output, _ = trial.both(trial.cases(128)[case], 6, tmp_path)
    mine, theirs = trial.rates(flowing, output)
    assert mine == pytest.approx(theirs, rel=0.01)
    assert np.median(mine) == pytest.approx(np.median(theirs), rel=1e-3)
    assert len(set(np.round(theirs, -2))) > 5


@simulation.simgrid
def test_adapters_that_messages_keep_are_those_of_simgrid(tmp_path):
    """They spread the ranks that leave the barrier, and so who shares a cable with whom, and for how long."""
    described = trial.cases(128)["fat tree, random"]
    costs = described["inter_node"] | {"adapter_us": 5}
    mine, theirs = trial.rates(*trial.both(described | {"inter_node": costs}, 6, tmp_path)[:2])
    free, _ = trial.rates(*trial.both(described, 6, tmp_path)[:2])
    assert mine == pytest.approx(theirs, rel=0.01)
    assert mine != pytest.approx(free, rel=0.1)


@pytest.fixture
def planned(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(SMALL + yaml.safe_dump({"plan": "p", "alternatives": [{"name": "six", "nodes": 6}]}))
    return file


def test_the_engine_is_on_the_screen_and_in_json(planned):
    done = CliRunner().invoke(cli, ["twin", "predict", "--flows", str(planned)])
    assert done.exit_code == 0 and "all pairs at once; by flows\n" in done.stdout
    found = json.loads(CliRunner().invoke(cli, ["twin", "predict", "--flows", "--json", str(planned)]).stdout)
    assert found["engine"] == "flows"
    assert found["alternatives"][0]["findings"] is None  # not analysed


@pytest.mark.parametrize("option", ["--confirm", "--alltoall"])
def test_options_that_flows_lack_are_refused_in_one_line(planned, option):
    done = CliRunner().invoke(cli, ["twin", "predict", "--flows", option, str(planned)])
    assert done.exit_code == 1
    expected = f"{planned}: {option} needs simulated processes, and --flows has none; leave out one of them"
    assert str(done.exception) == expected or expected in done.stderr


def test_many_nodes_are_computed_by_flows_by_default(planned, monkeypatch):
    monkeypatch.setattr(flows, "MOST_SIMULATED", 7)
    (first, _) = what_if.simulate(plan.load(planned), what_if.Questions(), Bounds(), lambda line: None)
    assert first.engine == "flows"
    with pytest.raises(TwinError, match=r"--alltoall needs .* 8 nodes are computed by flows.* give --no-flows"):
        what_if.simulate(plan.load(planned), what_if.Questions(alltoall=True), Bounds(), lambda line: None)


def test_fewer_rounds_are_those_of_the_program(planned):
    twin = plan.load(planned)[0].twin
    matrix = flows.matrix(twin, SIZE_B, 2, Bounds())
    assert [matrix.MBps[0, shift] > 0 for shift in range(4)] == [True, False, False, True]


def test_bounds_hold(planned, tmp_path, monkeypatch):
    endless = tmp_path / "flows"
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o755)
    monkeypatch.setattr(flows.simgrid, "flows", lambda: endless)
    twin = plan.load(planned)[0].twin
    with pytest.raises(TwinError, match="is not done after 0.1 s"):
        flows.matrix(twin, SIZE_B, 0, Bounds(seconds=0.1))


@pytest.mark.parametrize(
    ("old", "new", "pairs", "message"),
    [
        ("100000000 shared -", "100000000 fatpipe -", [0, 4], "link n0:up is not of the policy `shared`"),
        ("next 4 ", "#", [0, 4], "a switch has no line `next`"),
        ("", "", [0, 8], "has a pair that does not join two hosts"),
        ("", "", [3, 3], "has a pair that does not join two hosts"),
        ("", "", [0, 4, 1], "does not have that many pairs in each round"),
    ],
)
def test_wrong_files_end_the_program_with_one_line(small, tmp_path, old, new, pairs, message):
    text = platform(small())
    assert old in text
    (tmp_path / "platform").write_text(text.replace(old, new, 1))
    np.array(pairs, dtype=np.int32).tofile(tmp_path / "pairs")
    words = [simgrid.flows(), tmp_path / "platform", tmp_path / "pairs", "1", "1024", "0", "1", tmp_path / "times"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode != 0 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_it_compiles_without_a_warning(tmp_path):
    command = ["make", "-f", simgrid.SOURCE / "Makefile", "flows", "CXXFLAGS=-Wpedantic -Wshadow -Werror"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
