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
    for text, names in (("all", list(stacks.WHEEL_MPIS)), ("impi,mpich", ["impi", "mpich"]), ("none", [])):
        monkeypatch.setenv("FABRIC_MPI", text)
        assert stacks.selected_mpis() == names
    monkeypatch.setenv("FABRIC_MPI", "mpich,lam")
    with pytest.raises(FabricError, match="FABRIC_MPI names 'lam'; choose from mpich, openmpi, impi"):
        stacks.selected_mpis()


def test_the_variable_names_a_stack(monkeypatch):
    assert stacks.selected_stack() is None
    monkeypatch.setenv("FABRIC_STACK", "spack")
    assert stacks.selected_stack() == "spack"
    monkeypatch.setenv("FABRIC_STACK", "conda")
    with pytest.raises(FabricError, match="FABRIC_STACK names 'conda'; choose from wheels, spack, modules"):
        stacks.selected_stack()


@pytest.mark.parametrize(
    ("stack", "system", "expected"),
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
