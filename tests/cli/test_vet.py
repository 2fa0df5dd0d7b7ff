# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks vet` on a machine whose faults are known: table, JSON, exit status, and the command that
drains."""

import json

import pytest
from click.testing import CliRunner

from fabric_checks.cli import vet
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly.vetting.group_tests import Outcome
from fabric_checks.nightly.vetting.machine import Machine


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Return a function that vets eight nodes, of which these are faulty and slow, and returns status and
    output."""

    monkeypatch.setenv("FABRIC_METRICS", str(tmp_path))

    def vetted(
        *options,
        faulty=(),
        slow=(),
        away=(),
        lost=(),
        count=8,
        size=None,
        scheduler="fabric-slurm",
    ):
        def run(_, groups):
            bad = [any(node in faulty for node in group) for group in groups]
            blamed = {node: f"{node} sends at 0.5\x1b[31m" for node in slow}
            return [
                (Outcome(not each, {}, {} if each else blamed, why="it hung"), 0.5)
                for each in bad
            ]

        nodes = tuple(f"n{number}" for number in range(count))
        all_nodes = [*nodes, *away]
        at = dict.fromkeys(all_nodes[:4], "leaf-\x1b1") | dict.fromkeys(
            all_nodes[4:6], "leaf-2"
        )
        drained = {node: f"{node} is drained" for node in away}
        found = Machine(
            "oak:p", "mpich", scheduler, nodes, drained, at, frozenset(lost), size or 20
        )
        monkeypatch.setattr(vet.machine, "look", lambda *_: found)
        monkeypatch.setattr(vet.Jobs, "run", run)
        done = CliRunner().invoke(vet.command, [*options])
        assert done.exception is None or isinstance(
            done.exception, SystemExit | FabricError
        ), done.exception
        return done.exit_code, str(done.exception) if isinstance(
            done.exception, FabricError
        ) else done.output

    return vetted


def test_a_healthy_machine(call):
    status, text = call("--budget", "40")
    assert status == 0 and text.startswith(
        "oak:p, 8 nodes: 8 good\n1 job in 1 round, 4 of 40 node-minutes; "
    )
    assert "scontrol" not in text


def test_bad_nodes_are_a_table_and_a_command(call):
    status, text = call("--budget", "400", faulty=["n2"], slow=["n5"], away=["n8"])
    assert status == 3 and "9 nodes: 6 good, 1 slow, 1 faulty, 1 not seen" in text
    rows = [line.split()[:3] for line in text.splitlines() if line.startswith("n")]
    assert rows == [
        ["node", "switch", "verdict"], ["n2", "leaf-?1", "faulty"], ["n5", "leaf-2", "slow"],
        ["n8", "not", "seen"],
    ]  # fmt: skip
    assert (
        "scontrol update nodename=n2,n5 state=drain 'reason=fabric-checks vet 2" in text
    )
    assert "\x1b" not in text


def test_the_same_as_json(call):
    status, text = call("--budget", "400", "--json", faulty=["n2"])
    data = json.loads(text)
    assert status == 3
    assert data["nodes"]["n2"] == "faulty"
    assert data["nodes"]["n0"] == "good"
    assert data["spent"]["node_minutes"] <= 400 and data["drain"].startswith(
        "scontrol update nodename=n2 "
    )
    assert data["switches"]["n5"] == "leaf-2"


def test_nodes_that_were_not_seen_are_no_success(call):
    assert call("--budget", "40", away=["n8"])[0] == 1
    status, text = call("--budget", "40", away=["n8", "n9"], lost=["n9"])
    assert status == 3
    assert "8 good, 1 faulty, 1 not seen" in text
    assert "nodename=n9 " in text
    status, text = call("--budget", "39")
    # One cause is one row, however many nodes it is of.
    assert "n0, n1, n2, n3, n4, n5, n6, n7" in text and text.count("is too small") == 1
    assert status == 1 and "the budget of 39 node-minutes is too small" in " ".join(
        text.split()
    )


def test_one_node_makes_no_pair(call):
    status, text = call("--budget", "10", count=1)
    assert status == 1 and "1 node takes jobs, but pairs need two" in text


@pytest.mark.parametrize("size, drains", [(20, True), (19, False)])
def test_no_command_drains_more_than_a_tenth_of_the_machine(call, size, drains):
    status, text = call("--budget", "400", faulty=["n2"], slow=["n5"], size=size)
    assert status == 3 and ("scontrol update nodename=n2,n5" in text) == drains
    assert (
        f"2 of {size} nodes are slow or faulty, more than a tenth"
        in " ".join(text.split())
    ) != drains


def test_one_node_of_a_small_machine_may_be_drained(call):
    assert "nodename=n2 " in call("--budget", "400", faulty=["n2"], size=2)[1]


@pytest.mark.parametrize("scheduler, line", [
    ("fabric-flux", "flux resource drain n2,n5 'fabric-checks vet 2"),
    ("fabric-pbs", "pbsnodes -o -C 'fabric-checks vet 2"),
])  # fmt: skip
def test_the_command_that_drains_is_that_of_the_scheduler(call, scheduler, line):
    text = call("--budget", "400", faulty=["n2"], slow=["n5"], scheduler=scheduler)[1]
    assert line in text and "scontrol" not in text


def test_a_vet_leaves_its_gauges(call, tmp_path):
    assert call("--budget", "400", faulty=["n2"])[0] == 3
    text = (tmp_path / "fabric_checks_vet_oak.prom").read_text()
    assert (
        'fabric_checks_vet_nodes{partition="p",system="oak",verdict="good"} 7.0' in text
    )
    assert (
        'fabric_checks_vet_node_verdict{node="n2",partition="p",system="oak",verdict="faulty"} 1.0'
        in text
    )


def test_gauges_that_cannot_be_written_are_named_and_no_success(call, tmp_path):
    (tmp_path / "f").write_text("")
    status, text = call("--budget", "400", "--metrics", str(tmp_path / "f/x"))
    assert status == 1
    assert "8 good" in text
    assert "the gauges of this vet are not written" in text
