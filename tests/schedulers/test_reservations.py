# SPDX-License-Identifier: BSD-3-Clause
"""Options that make jobs run in a reservation or on some nodes, and refusals."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.schedulers import reservations


@pytest.fixture(autouse=True)
def nothing_asked_for(monkeypatch):
    for variable in (reservations.VARIABLE, reservations.NODES):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    "scheduler, access, after",
    [
        ("fabric-slurm", ["--exclusive"], ["--exclusive", "--reservation=user1#0"]),
        (
            "slurm",
            ["--reservation=old", "--exclusive"],
            ["--exclusive", "--reservation=user1#0"],
        ),
        ("fabric-flux", ["--x"], ["--x"]),
    ],
)
def test_a_reservation_of_slurm_replaces_that_in_access(
    monkeypatch, scheduler, access, after
):
    partition = {"scheduler": scheduler, "access": access}
    reservations.apply(partition)
    assert partition["access"] == access
    monkeypatch.setenv(reservations.VARIABLE, "user1#0")
    reservations.apply(partition)
    assert partition == {"scheduler": scheduler, "access": after}


@pytest.mark.parametrize(
    "access, name",
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


def test_a_partition_without_slurm_is_refused_with_its_name():
    taken = {"name": "p", "scheduler": "fabric-slurm"}
    reservations.require("w", "s", [taken])
    with pytest.raises(
        FabricError,
        match="--reservation w: s:q is run by 'fabric-flux', and only Slurm's reservations",
    ):
        reservations.require(
            "w", "s", [taken, {"name": "q", "scheduler": "fabric-flux"}]
        )


def test_a_partition_is_confined_to_nodes(monkeypatch):
    monkeypatch.setenv(reservations.NODES, "n1,n2,,n5")
    partition = {
        "scheduler": "fabric-slurm",
        "access": ["--exclusive"],
        "environs": ["x"],
        "extras": {"cores": 2},
    }
    reservations.apply(partition)
    assert partition["access"] == ["--exclusive", "--nodelist=n1,n2,n5"]
    assert partition["extras"] == {"cores": 2, "nodes": 3} and partition[
        "environs"
    ] == ["x"]
    flux = {"scheduler": "fabric-flux", "environs": ["x"]}
    reservations.apply(flux)
    assert flux["access"] == ["--requires=host:n1,n2,n5"] and flux["extras"] == {
        "nodes": 3
    }
    pbs = {"scheduler": "fabric-pbs", "access": ["-q main"], "environs": ["x"]}
    reservations.apply(pbs)
    assert pbs["access"] == ["-q main"] and pbs["environs"] == [
        "x"
    ]  # its job scripts name them
    other = {"scheduler": "local", "environs": ["x"]}
    reservations.apply(other)
    assert other == {"scheduler": "local", "environs": []}
