# SPDX-License-Identifier: BSD-3-Clause
"""Detect the machine: run each tool that is present, and keep the parts of its output that can be used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fabric_checks.core.errors import FabricError, OutputError, quoted
from fabric_checks.core.paths import name_is_sound, sound_path
from fabric_checks.onboarding import hardware
from fabric_checks.onboarding.facts import Facts, Mpi, Suite
from fabric_checks.onboarding.probe import Machine
from fabric_checks.schedulers.flux import output as flux
from fabric_checks.schedulers.lsf import output as lsf
from fabric_checks.schedulers.model import Queue
from fabric_checks.schedulers.pbs import output as pbs
from fabric_checks.schedulers.slurm import output as slurm
from fabric_checks.software import modules

T = TypeVar("T")

_LEFT_OUT = " is left out: the name cannot be used in a job script"

#: The values of `srun --mpi` that launch an MPI, best first; `pmix` is also pmix_v4 and the like.
_PMI = {
    "openmpi": ("pmix", "pmi2"),
    "spectrum-mpi": ("pmix",),
    "cray-mpich": ("cray_shasta", "pmi2", "pmix"),
    "mpich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
    "intel-oneapi-mpi": ("pmi2", "pmix"),
}
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
        self.notes += [f"{kind} {quoted(name)}{_LEFT_OUT}" for name in names if not name_is_sound(name)]
        return list(filter(name_is_sound, names))

    def sound_prefix(self, kind: str, prefix: str | None) -> str:
        """Return the folder of an installation if it is safe in a job script; else an empty text, with a note."""
        if not prefix or not prefix.startswith("/"):
            return ""
        try:
            return str(sound_path(kind, prefix))
        except FabricError as error:
            self.notes.append(str(error))
            return ""

    def usable(self, kind: str, queues: Iterable[Queue] | None) -> tuple[Queue, ...]:
        """Return the queues with nodes that take jobs, and whose names can be used."""
        kept = [queue for queue in queues or () if queue.nodes and queue.takes_jobs]
        names = set(self.sound(kind, (queue.name for queue in kept if queue.name)))
        return tuple(queue for queue in kept if not queue.name or queue.name in names)


def look(machine: Machine, host: str) -> Facts:
    """Return the facts about a machine.

    :param host: its name.
    """
    now = Look(machine)
    found = Facts()
    for tool, ask in _SCHEDULERS.items():
        if machine.has(tool):
            scheduler = ask(now)
            if scheduler.queues:
                found = scheduler
                break
            now.notes.append(f"{tool} is there, but lists no nodes that take jobs")
    system, mpis = _software(now, found.pmis)
    return replace(
        found,
        host=host,
        links=tuple(hardware.fastest(_links(now))),
        cores=now.parsed("lscpu", hardware.cores, machine.ask("lscpu") or ""),
        modules=system,
        mpis=mpis,
        notes=tuple(now.notes),
        asked=machine.asked,
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
    user = now.machine.variables.get("USER", "")
    accounts = ""
    if name_is_sound(user):
        wanted = ("show", "associations", f"user={user}", "format=account")
        accounts = ask("sacctmgr", "--noheader", "--parsable2", *wanted) or ""
    cluster = settings.get("ClusterName", "")
    return Facts(
        scheduler="slurm",
        cluster=cluster if name_is_sound(cluster) else "",
        queues=now.usable("the partition", now.parsed("sinfo", slurm.queues, groups, limits)),
        accounts=tuple(now.sound("the account", slurm.accounts(accounts))),
        pmis=tuple(now.parsed("srun --mpi=list", slurm.mpi_types, ask("srun", "--mpi=list") or "") or ()),
        switches=slurm.leaf_switches(ask("scontrol", "--oneliner", "show", "topology") or ""),
    )


def _pbs(now: Look) -> Facts:
    ask = now.machine.ask
    nodes, queues = ask("pbsnodes", "-a") or "", ask("qstat", "-Qf") or ""
    default = _first(r"^\s+default_queue = (\S+)", ask("qstat", "-Bf"))
    return Facts(
        scheduler="pbs",
        queues=now.usable("the queue", now.parsed("pbsnodes", pbs.queues, nodes, queues, default)),
    )


def _lsf(now: Look) -> Facts:
    tables = [now.machine.ask(tool, "-w") or "" for tool in ("bhosts", "lshosts", "bqueues")]
    cluster = _first(r"^My cluster name is (\S+)", now.machine.ask("lsid"))
    return Facts(
        scheduler="lsf",
        cluster=cluster if name_is_sound(cluster) else "",
        queues=now.usable("the queue", now.parsed("bhosts, lshosts or bqueues", lsf.queues, *tables)),
    )


def _flux(now: Look) -> Facts:
    resources = now.machine.ask("flux", "resource", "R") or ""
    return Facts(
        scheduler="flux", queues=now.usable("the queue", now.parsed("flux resource R", flux.queues, resources))
    )


#: The tool by which each scheduler is detected, and the function that runs its tools. The first with nodes is taken: a
#: site may have commands of several.
_SCHEDULERS: dict[str, Callable[[Look], Facts]] = {"sinfo": _slurm, "bhosts": _lsf, "pbsnodes": _pbs, "flux": _flux}


def _links(now: Look) -> list[hardware.Link]:
    """Return the links of this host that are up: ``ibstat`` and ``ethtool`` print the contents of the same files."""
    read, listed = now.machine.read, now.machine.listed
    found = []
    for device in now.sound("the adapter", listed("/sys/class/infiniband")):
        for port in now.sound("the port", listed(f"/sys/class/infiniband/{device}/ports")):
            folder = f"/sys/class/infiniband/{device}/ports/{port}"
            rate, state, layer = (read(f"{folder}/{name}") for name in ("rate", "state", "link_layer"))
            found.append(now.parsed(folder, hardware.infiniband, device, rate, state, layer))
    for device in now.sound("the interface", listed("/sys/class/net")):
        # Without a device it is a bridge, a tunnel or one end of a pair: its rate is no cable's.
        if listed(f"/sys/class/net/{device}/device"):
            found.append(hardware.ethernet(device, read(f"/sys/class/net/{device}/speed")))
    return [link for link in found if link is not None]


def _software(now: Look, pmis: tuple[str, ...]) -> tuple[str, tuple[Mpi, ...]]:
    """Return the module system, and the MPIs of the site: by modules, or else the one on PATH."""
    variables = now.machine.variables
    if "LMOD_CMD" in variables or "LMOD_VERSION" in variables:
        system = "lmod"
    elif "MODULES_CMD" in variables or "MODULESHOME" in variables:
        system = "envmod"
    else:
        return "nomod", _on_path(now, pmis)
    return system, _of_modules(now, system, pmis) or _on_path(now, pmis)


def _module(now: Look, command: str) -> str:
    """Return the output of `module`, a function of login shells."""
    return now.machine.ask("bash", "--login", "-c", f"module {command} 2>&1") or ""


def _of_modules(now: Look, system: str, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    listed, refused = modules.available(_module(now, "-t avail"))
    if system == "lmod" and not any(modules.best(listed, pattern) for pattern in modules.FAMILIES.values()):
        # Modules behind a compiler's module only show in `spider`.
        listed, refused = modules.available(_module(now, "-t spider"))
        if listed:
            now.notes.append("MPIs appear only in `module spider`: their compiler's module may have to be loaded first")
    ours = re.compile("|".join(f"({pattern})" for pattern in modules.FAMILIES.values()), re.IGNORECASE)
    now.notes += [f"the module {quoted(name)}{_LEFT_OUT}" for name in refused if ours.search(name)]
    best = {family: modules.best(listed, pattern) for family, pattern in modules.FAMILIES.items()}
    found = {family: module for family, module in best.items() if module is not None}
    return tuple(
        Mpi(
            family,
            # HPC-X is an Open MPI with numbers of its own.
            "" if module.software.lower().startswith("hpcx") else module.version,
            module.name,
            "cc" if family == "cray-mpich" else "mpicc",
            _pmi(family, pmis),
            _suites(now, listed, family, alone=len(found) == 1),
            pmi_library=_pmi_library(now) if family == "intel-oneapi-mpi" and _pmi(family, pmis) else "",
        )
        for family, module in found.items()
    )


def _suites(now: Look, listed: list[modules.Module], family: str, *, alone: bool) -> tuple[Suite, ...]:
    """Return the suites whose modules were built with an MPI, or do not name one where there is only this one."""
    own = [module for module in listed if modules.built_with(module, family) is not False]
    own = [module for module in own if alone or modules.built_with(module, family)]
    named = [(suite, modules.best(own, pattern)) for suite, pattern in modules.SUITES.items()]
    there = [(suite, module) for suite, module in named if module is not None and module.version]
    newest = max((module.toolchain for _, module in there), default="")
    found = []
    for suite, module in there:
        if module.toolchain and module.toolchain != newest:
            now.notes.append(
                f"{module.name} is left out: it belongs to another toolchain and cannot share a job with the others"
            )
            continue
        prefix = modules.prefix(_module(now, f"show {module.name}"), suite)
        prefix = now.sound_prefix(f"the prefix of {module.name}", prefix)
        found.append(Suite(suite, module.name, module.version, prefix or None))
    return tuple(found)


def _on_path(now: Look, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    if not now.machine.has("mpicc"):
        return ()
    text = now.machine.ask("mpirun", "--version")
    for family, pattern in _VERSIONS.items():
        if version := _first(pattern, text):
            prefix = now.sound_prefix("the prefix of mpicc", now.machine.prefix_of("mpicc"))
            return (Mpi(family, version.rstrip("."), "", "mpicc", _pmi(family, pmis), prefix=prefix),)
    return ()


#: The folders of Slurm's packages for its libraries for MPIs.
_LIBRARIES = (
    *("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"),
    *("/opt/slurm/lib64", "/opt/slurm/lib", "/usr/local/lib"),
)


def _pmi_library(now: Look) -> str:
    """Return Slurm's library of PMI-2, which Intel MPI does not find by itself; empty if it is in no usual folder."""
    for folder in _LIBRARIES:
        for name in ("libpmi2.so", "libpmi2.so.0"):
            if name in now.machine.listed(folder):
                return f"{folder}/{name}"
    now.notes.append("no libpmi2.so was found; Intel MPI may need one in I_MPI_PMI_LIBRARY to be started by srun")
    return ""


def _pmi(family: str, offered: tuple[str, ...]) -> str:
    """Return the value of `srun --mpi` for an MPI: the best that Slurm offers; empty if it offers none for it."""
    found = (pmi for wanted in _PMI[family] for pmi in offered if pmi == wanted or pmi.startswith(f"{wanted}_v"))
    return next(found, "")
