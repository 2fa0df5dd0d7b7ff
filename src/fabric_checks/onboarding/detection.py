# SPDX-License-Identifier: BSD-3-Clause
"""Detect the machine: run each tool that is present, and keep the parts of its output that can be used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fabric_checks.core.errors import FabricError, OutputError, quoted
from fabric_checks.core.paths import name_is_sound, sound_path
from fabric_checks.core.text import first_of, one_line
from fabric_checks.onboarding import hardware
from fabric_checks.onboarding.facts import Facts, Mpi
from fabric_checks.onboarding.launchers import PMI
from fabric_checks.onboarding.probe import Machine
from fabric_checks.schedulers.flux import output as flux
from fabric_checks.schedulers.model import Queue
from fabric_checks.schedulers.pbs import output as pbs
from fabric_checks.schedulers.slurm import output as slurm
from fabric_checks.software import modules

T = TypeVar("T")

#: The lines of `mpirun --version` of each MPI.
_VERSIONS = {
    "openmpi": r"Open MPI\) (\d[\d.]*)",
    "intel-oneapi-mpi": r"Intel\(R\) MPI Library.* Version (\d[\d.]*)",
    "mpich": r"HYDRA build details:\s+Version:\s+(\d[\d.]*)",
}


@dataclass
class Look:
    """A machine, and notes on what was found."""

    machine: Machine
    notes: list[str] = field(default_factory=list)

    def parsed(self, tool: str, parse: Callable[..., T], *texts: str) -> T | None:
        """Parse output; return None, with a note, if it is not understood."""
        if not texts[0]:
            return None  # no output, which `Machine.asked` has
        try:
            return parse(*texts)
        except OutputError as error:
            self.notes.append(f"the output of {tool} is not understood: {error}")
            return None

    def sound(self, kind: str, names: Iterable[str]) -> list[str]:
        """Return the names that are safe in a file and in a job script, and note the others."""
        names = list(names)
        left_out = "is left out: the name cannot be used in a job script"
        self.notes += [
            f"{kind} {quoted(name)} {left_out}"
            for name in names
            if not name_is_sound(name)
        ]
        return list(filter(name_is_sound, names))

    def usable(self, kind: str, queues: Iterable[Queue] | None) -> tuple[Queue, ...]:
        """Return the queues with nodes that take jobs, and whose names can be used."""
        kept = []
        for queue in queues or ():
            if not (queue.nodes and queue.takes_jobs):
                self.notes.append(
                    f"{kind} {quoted(queue.name)} is left out: it is closed, or has no node in service"
                )
            elif not queue.name or self.sound(kind, [queue.name]):
                kept.append(queue)
        return tuple(kept)


def look(machine: Machine, host: str, *, this_host: bool = False) -> Facts:
    """Return the facts about a machine.

    :param host: its name; :param this_host: whether to describe it alone, and to ask no scheduler.
    :raises FabricError: if there are a scheduler's commands, but none that lists nodes for jobs.
    """
    now = Look(machine)
    found = Facts() if this_host else _scheduler(now)
    cores = now.parsed("lscpu", hardware.cores, machine.ask("lscpu") or "")
    links = tuple(hardware.fastest(_links(now)))
    found = replace(
        found, host=host, links=links, cores=cores, **_software(now, found.pmis)
    )
    return replace(found, notes=tuple(now.notes), asked=machine.asked)


def _scheduler(now: Look) -> Facts:
    """Return what the first scheduler tells that has nodes; nothing where no scheduler has commands."""
    there = [tool for tool in _SCHEDULERS if now.machine.has(tool)]
    for tool in there:
        found = _SCHEDULERS[tool](now)
        if found.queues:
            return found
    if not there:
        return Facts()
    faults = [
        f"{command.split()[0]}: {fault}"
        for command, fault in now.machine.asked.items()
        if fault != "ok"
    ]
    why = [*faults, *now.notes] or [
        f"{', '.join(there)}: no node is in service and takes jobs"
    ]
    raise FabricError(
        f"no scheduler lists nodes for jobs: {one_line('; '.join(first_of(why)))}; call `init` where and when"
        " jobs can be submitted, or with --this-host to describe this host alone"
    )


def _first(pattern: str, text: str | None) -> str:
    """Return the first group of the first match of a pattern; empty without a match."""
    match = re.search(pattern, text or "", re.MULTILINE)
    return match[1] if match else ""


def _slurm(now: Look) -> Facts:
    ask = now.machine.ask
    groups = ask("sinfo", "--noheader", f"--format={slurm.SINFO}")
    if groups is None:
        return Facts(scheduler="slurm")  # commands without a cluster
    limits = ask("scontrol", "--oneliner", "show", "partition") or ""
    settings = slurm.settings(ask("scontrol", "show", "config") or "")
    types = ask("srun", "--mpi=list") or ""
    if broken := slurm.broken_mpi_types(types):
        now.notes.append(
            f"srun offers {', '.join(broken)}, but cannot load it, so it is not used"
        )
    cluster = settings.get("ClusterName", "")
    return Facts(
        scheduler="slurm",
        cluster=cluster if name_is_sound(cluster) else "",
        queues=now.usable(
            "the partition", now.parsed("sinfo", slurm.queues, groups, limits)
        ),
        pmis=tuple(now.parsed("srun --mpi=list", slurm.mpi_types, types) or ()),
    )


def _pbs(now: Look) -> Facts:
    ask = now.machine.ask
    nodes, queues = ask("pbsnodes", "-a") or "", ask("qstat", "-Qf") or ""
    default = _first(r"^\s+default_queue = (\S+)", ask("qstat", "-Bf"))
    return Facts(
        scheduler="pbs",
        queues=now.usable(
            "the queue", now.parsed("pbsnodes", pbs.queues, nodes, queues, default)
        ),
    )


def _flux(now: Look) -> Facts:
    resources = now.machine.ask("flux", "resource", "R") or ""
    return Facts(
        scheduler="flux",
        queues=now.usable(
            "the queue", now.parsed("flux resource R", flux.queues, resources)
        ),
    )


#: The tool by which each scheduler is detected, and the function that runs its tools. The first with nodes is
#: taken: a site may have commands of several.
_SCHEDULERS: dict[str, Callable[[Look], Facts]] = {
    "sinfo": _slurm,
    "pbsnodes": _pbs,
    "flux": _flux,
}


def _links(now: Look) -> list[hardware.Link]:
    """Return the links of this host that are up: ``ibstat`` and ``ethtool`` print the contents of the same
    files."""
    read, listed = now.machine.read, now.machine.listed
    found = []
    for device in now.sound("the adapter", listed("/sys/class/infiniband")):
        for port in now.sound(
            "the port", listed(f"/sys/class/infiniband/{device}/ports")
        ):
            folder = f"/sys/class/infiniband/{device}/ports/{port}"
            rate, state, layer = (
                read(f"{folder}/{name}") for name in ("rate", "state", "link_layer")
            )
            found.append(
                now.parsed(folder, hardware.infiniband, device, rate, state, layer)
            )
    for device in now.sound("the interface", listed("/sys/class/net")):
        # Without a device it is a bridge, a tunnel or one end of a pair: its rate is no cable's.
        if listed(f"/sys/class/net/{device}/device"):
            found.append(
                hardware.ethernet(device, read(f"/sys/class/net/{device}/speed"))
            )
    return [link for link in found if link is not None]


def _software(now: Look, pmis: tuple[str, ...]) -> dict[str, Any]:
    """Return the module system, the MPIs of the site, by modules or else the one on PATH, and suites."""
    system, listed, hidden = _listed_modules(now)

    def best_of(names: Iterable[str]) -> list[modules.Module]:
        found = [
            modules.best(listed, name) or modules.best(hidden, name) for name in names
        ]
        return [module for module in found if module is not None]

    own = [
        _of_module(now, each, pmis, is_lmod=system == "lmod")
        for each in best_of(modules.FAMILIES)
    ]
    mpis = tuple(own) or _on_path(now, pmis)
    now.notes += [
        f"srun --mpi=list offers nothing that starts {mpi.family}"
        for mpi in mpis
        if pmis and not mpi.pmi
    ]
    return {"modules": system, "mpis": mpis, "suites": tuple(best_of(modules.SUITES))}


def _listed_modules(
    now: Look,
) -> tuple[str, list[modules.Module], list[modules.Module]]:
    """Return the module system, its modules, and those that only Lmod's `spider` shows: those behind a
    compiler or an MPI."""
    variables = now.machine.variables.keys()
    is_lmod = bool(variables & {"LMOD_CMD", "LMOD_VERSION"})
    if not is_lmod and not variables & {"MODULES_CMD", "MODULESHOME"}:
        return "nomod", [], []
    listed = modules.available(_module(now, "-t avail"))
    if not is_lmod:
        return "envmod", listed, []
    return "lmod", listed, modules.available(_module(now, "-t spider"))


def _module(now: Look, command: str) -> str:
    """Return the output of `module`, a function of login shells."""
    return now.machine.ask("bash", "--login", "-c", f"module {command} 2>&1") or ""


def _of_module(
    now: Look, module: modules.Module, pmis: tuple[str, ...], *, is_lmod: bool
) -> Mpi:
    """Return an MPI; of several sets of modules that it may need before it, that of GCC, or the first."""
    family, pmi = module.software, _pmi(module.software, pmis)
    sets = (
        modules.needed_before(_module(now, f"spider {module.name}")) if is_lmod else []
    )
    needs = min(
        sets,
        key=lambda names: re.match("gcc|gnu", names[-1], re.IGNORECASE) is None,
        default=[],
    )
    return Mpi(
        family,
        module.version,
        "cc" if family == "cray-mpich" else "mpicc",
        pmi,
        pmi_library=_pmi_library(now) if family == "intel-oneapi-mpi" and pmi else "",
        modules=(*needs, module.name),
    )


def _on_path(now: Look, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    if not now.machine.has("mpicc"):
        return ()
    text = now.machine.ask("mpirun", "--version")
    releases = {family: _first(each, text) for family, each in _VERSIONS.items()}
    family = next(filter(releases.get, releases), None)
    if family is None:
        return ()
    prefix = now.machine.prefix_of("mpicc")
    try:
        prefix = prefix and str(sound_path("the prefix of mpicc", prefix))
    except FabricError as error:
        now.notes.append(str(error))
        prefix = ""
    release, pmi = releases[family].rstrip("."), _pmi(family, pmis)
    return (Mpi(family, release, "mpicc", pmi, prefix=prefix),)


#: The folders of Slurm's packages for its libraries for MPIs.
_LIBRARIES = (
    *("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"),
    *("/opt/slurm/lib64", "/opt/slurm/lib", "/usr/local/lib"),
)


def _pmi_library(now: Look) -> str:
    """Return Slurm's library of PMI-2, which Intel MPI does not find by itself; empty if it is in no usual
    folder."""
    for folder in _LIBRARIES:
        listed = now.machine.listed(folder)
        for name in ("libpmi2.so", "libpmi2.so.0"):
            if name in listed:
                return f"{folder}/{name}"
    why = "Intel MPI may need one in I_MPI_PMI_LIBRARY to be started by srun"
    now.notes.append(f"no libpmi2.so was found; {why}")
    return ""


def _pmi(family: str, offered: tuple[str, ...]) -> str:
    """Return the value of `srun --mpi` for an MPI: the best that Slurm offers; empty if it offers none for
    it."""
    found = (
        pmi
        for wanted in PMI[family]
        for pmi in offered
        if pmi == wanted or pmi.startswith(f"{wanted}_v")
    )
    return next(found, "")
