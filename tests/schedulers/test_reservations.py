# SPDX-License-Identifier: BSD-3-Clause
"""Which options make jobs run in a reservation, and what is refused."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.schedulers import reservations


@pytest.mark.parametrize(
    ("scheduler", "access", "after"),
    [
        ("fabric-slurm", ["--exclusive"], ["--exclusive", "--reservation=w"]),
        ("slurm", ["--reservation=old", "--exclusive"], ["--exclusive", "--reservation=w"]),
        ("pbs", ["-q workq", "-l place=scatter"], ["-l place=scatter", "-q w"]),
        ("fabric-lsf", ["-x"], ["-x", "-U w"]),
        ("local", ["--x"], ["--x"]),
        ("fabric-flux", [], []),
    ],
)
def test_the_option_of_each_scheduler(scheduler, access, after):
    assert reservations.access_with(access, scheduler, "w") == after


@pytest.mark.parametrize(
    ("access", "name"),
    [
        (["--exclusive"], None),
        (["--exclusive", "--reservation=w"], "w"),
        (["--exclusive --reservation w"], "w"),
        (["--reservation=v", "--reservation=w"], "w"),
        (["--reservation"], None),
    ],
)
def test_the_reservation_of_a_partition_is_read_from_its_access(access, name):
    assert reservations.of_access(access, "fabric-slurm") == name
    assert reservations.of_access(access, "pbs") is None


@pytest.mark.parametrize("name", ["a b", "-x", "$(rm)", "a\nb", "a,b"])
def test_an_unsound_name_is_refused(monkeypatch, name):
    monkeypatch.setenv(reservations.VARIABLE, name)
    with pytest.raises(FabricError, match="is not a name"):
        reservations.asked_for()


def test_the_environment_names_one(monkeypatch):
    monkeypatch.delenv(reservations.VARIABLE, raising=False)
    assert reservations.asked_for() is None
    monkeypatch.setenv(reservations.VARIABLE, "user1#0")
    assert reservations.asked_for() == "user1#0"


def test_a_partition_that_knows_none_is_named():
    taken = {"name": "p", "scheduler": "fabric-slurm"}
    reservations.require("w", "s", [taken])
    with pytest.raises(FabricError, match="--reservation w: s:q is run by 'fabric-flux', which has no reservations"):
        reservations.require("w", "s", [taken, {"name": "q", "scheduler": "fabric-flux"}])


def test_a_partition_that_is_confined_to_nodes(monkeypatch):
    monkeypatch.setenv(reservations.NODES, "n1,n2,,n5")
    partition = {"scheduler": "fabric-slurm", "access": ["--exclusive"], "environs": ["x"], "extras": {"cores": 2}}
    reservations.confine(partition, reservations.nodes_asked_for())
    assert partition["access"] == ["--exclusive", "--nodelist=n1,n2,n5"]
    assert partition["extras"] == {"cores": 2, "nodes": 3} and partition["environs"] == ["x"]
    other = {"scheduler": "local", "environs": ["x"]}
    reservations.confine(other, ["n1"])
    assert other == {"scheduler": "local", "environs": []}
    monkeypatch.setenv(reservations.NODES, "n1,$(x)")
    with pytest.raises(FabricError, match=r"'\$\(x\)' is not the name of a node"):
        reservations.nodes_asked_for()
