# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a machine that may be written into a configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric_checks.onboarding.hardware import Link
from fabric_checks.schedulers.model import Queue
from fabric_checks.software.modules import Module


@dataclass(frozen=True)
class Mpi:
    """An MPI of the site.

    :param family: Spack's name of it; :param module: its module, empty where its `mpicc` is on PATH.
    :param prefix: its folder, if it was found on PATH.
    :param pmi_library: the library that srun needs to start Intel MPI, if it was found.
    :param cc: its compiler; :param pmi: its value of `srun --mpi`, empty without Slurm.
    :param modules: those to load, its own behind those of a hierarchy that it needs.
    """

    family: str
    version: str
    cc: str
    pmi: str = ""
    prefix: str = ""
    pmi_library: str = ""
    modules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the environment: the same after an update, so that values have a history."""
        return f"{self.family}-site"


@dataclass(frozen=True)
class Facts:
    """The facts about a machine.

    :param host: its name; :param scheduler: slurm, pbs, flux, or local where there is none.
    :param cluster: the scheduler's name of it, or empty; :param queues: those whose names can be used.
    :param pmis: the values that `srun --mpi` offers.
    :param links: the fastest links of this host; :param cores: its physical cores.
    :param modules: ReFrame's name of the module system, ``nomod`` if there is none.
    :param suites: the modules of suites, of which nothing shows with which MPI they were built.
    :param notes: remarks for the reader, such as names that cannot be used.
    :param asked: the commands that were run, each with ``ok`` or its fault.
    """

    host: str = ""
    scheduler: str = "local"
    cluster: str = ""
    queues: tuple[Queue, ...] = ()
    pmis: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    cores: int | None = None
    modules: str = "nomod"
    mpis: tuple[Mpi, ...] = ()
    suites: tuple[Module, ...] = ()
    notes: tuple[str, ...] = ()
    asked: dict[str, str] = field(default_factory=dict)
