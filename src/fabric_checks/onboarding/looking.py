# SPDX-License-Identifier: BSD-3-Clause
"""Look at the machine: ask each tool that is there, and keep of what it says what can be used."""

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

#: By which of `srun --mpi` an MPI is launched, best first; `pmix` is also pmix_v4 and the like.
_PMI = {
    "openmpi": ("pmix", "pmi2"),
    "spectrum-mpi": ("pmix",),
    "cray-mpich": ("cray_shasta", "pmi2", "pmix"),
    "mpich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
    "intel-oneapi-mpi": ("pmi2", "pmix"),
}
#: What `mpirun --version` says of each MPI.
_SAYS = {
    "openmpi": r"Open MPI\) (\d[\d.]*)",
    "intel-oneapi-mpi": r"Intel\(R\) MPI Library.* Version (\d[\d.]*)",
    "mpich": r"HYDRA build details:\s+Version:\s+(\d[\d.]*)",
}


@dataclass
class Look:
    """One look at a machine, with what was refused and what is worth a note on the way."""

    machine: Machine
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def understood(self, tool: str, parse: Callable[..., T], *texts: str) -> T | None:
        """Return what a parser makes of answers; of what it does not understand None, and a note."""
        if not texts[0]:
            return None  # no answer, which is noted elsewhere
        try:
            return parse(*texts)
        except OutputError as error:
            self.notes.append(f"the output of {tool} is not understood: {error}")
            return None

    def sound(self, what: str, names: Iterable[str]) -> list[str]:
        """Return the names that can be in a file and in a job script, and note those that cannot."""
        found = []
        for name in names:
            if name_is_sound(name):
                found.append(name)
            else:
                self.refused.append(f"{what} {quoted(name)}")
        return found

    def usable(self, what: str, queues: Iterable[Queue]) -> tuple[Queue, ...]:
        """Return the queues with nodes that take jobs, and whose names can be used."""
        kept = [queue for queue in queues if queue.nodes and queue.takes_jobs]
        names = set(self.sound(what, (queue.name for queue in kept if queue.name)))
        return tuple(queue for queue in kept if not queue.name or queue.name in names)


def look(machine: Machine, host: str) -> Facts:
    """Return what can be found out about a machine.

    :param host: its name.
    """
    now = Look(machine)
    found = Facts(host, scheduler="local")
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
        cores=_cores(now),
        modules=system,
        mpis=mpis,
        spack=bool(machine.variables.get("SPACK_ROOT")) or machine.has("spack"),
        refused=tuple(now.refused),
        notes=tuple(now.notes),
        asked=machine.asked,
    )


def _slurm(now: Look) -> Facts:
    ask = now.machine.ask
    groups = ask("sinfo", "--noheader", f"--format={slurm.SINFO}")
    if groups is None:
        return Facts("", scheduler="slurm")  # commands without a cluster
    limits = ask("scontrol", "--oneliner", "show", "partition") or ""
    queues = now.understood("sinfo", slurm.queues, groups, limits) or []
    settings = slurm.settings(ask("scontrol", "show", "config") or "")
    types = ask("srun", "--mpi=list")
    pmis = now.understood("srun --mpi=list", slurm.mpi_types, types) if types else None
    user = now.machine.variables.get("USER", "")
    accounts = ""
    if name_is_sound(user):
        wanted = ("show", "associations", f"user={user}", "format=account")
        accounts = ask("sacctmgr", "--noheader", "--parsable2", *wanted) or ""
    cluster = settings.get("ClusterName", "")
    return Facts(
        "",
        scheduler="slurm",
        cluster=cluster if name_is_sound(cluster) else "",
        version=settings.get("SLURM_VERSION", ""),
        queues=now.usable("the partition", queues),
        accounts=tuple(now.sound("the account", slurm.accounts(accounts))),
        pmis=tuple(pmis or ()),
        switches=slurm.leaf_switches(ask("scontrol", "--oneliner", "show", "topology") or ""),
    )


def _pbs(now: Look) -> Facts:
    ask = now.machine.ask
    nodes, queues = ask("pbsnodes", "-a") or "", ask("qstat", "-Qf") or ""
    server = ask("qstat", "-Bf") or ""
    default = re.search(r"^\s+default_queue = (\S+)", server, re.MULTILINE)
    version = re.search(r"^\s+pbs_version = (\S+)", server, re.MULTILINE)
    found = now.understood("pbsnodes", pbs.queues, nodes, queues, default[1] if default else "")
    # Torque's nodes have `np`, those of PBS Professional `resources_available.ncpus`.
    is_torque = "resources_available." not in nodes and re.search(r"^\s+np = ", nodes, re.MULTILINE)
    return Facts(
        "",
        scheduler="torque" if is_torque else "pbs",
        version=version[1] if version else "",
        queues=now.usable("the queue", found or []),
    )


def _lsf(now: Look) -> Facts:
    hosts, models, queues = (now.machine.ask(tool, "-w") or "" for tool in ("bhosts", "lshosts", "bqueues"))
    found = now.understood("bhosts, lshosts or bqueues", lsf.queues, hosts, models, queues)
    said = now.machine.ask("lsid") or ""
    cluster = re.search(r"^My cluster name is (\S+)", said, re.MULTILINE)
    version = re.search(r"LSF\S* (?:Standard |Suite |HPC )?.*?(\d+(?:\.\d+)+)", said)
    return Facts(
        "",
        scheduler="lsf",
        cluster=cluster[1] if cluster and name_is_sound(cluster[1]) else "",
        version=version[1] if version else "",
        queues=now.usable("the queue", found or []),
    )


def _flux(now: Look) -> Facts:
    resources = now.machine.ask("flux", "resource", "R") or ""
    version = re.search(r"flux-core:?\s+(\d\S*)", now.machine.ask("flux", "version") or "")
    return Facts(
        "",
        scheduler="flux",
        version=version[1] if version else "",
        queues=now.usable("the queue", now.understood("flux resource R", flux.queues, resources) or []),
    )


#: By which tool each scheduler shows, and who asks it. The first that has nodes is taken: commands of one may be there
#: for another's sake, or for nothing.
_SCHEDULERS: dict[str, Callable[[Look], Facts]] = {"sinfo": _slurm, "bhosts": _lsf, "pbsnodes": _pbs, "flux": _flux}


def _cores(now: Look) -> int | None:
    said = now.machine.ask("lscpu")
    return now.understood("lscpu", hardware.cores, said) if said else None


def _links(now: Look) -> list[hardware.Link]:
    """Return the links of this host that are up: what ``ibstat`` and ``ethtool`` print is in the same files."""
    read, listed = now.machine.read, now.machine.listed
    found = []
    for device in now.sound("the adapter", listed("/sys/class/infiniband")):
        for port in now.sound("the port", listed(f"/sys/class/infiniband/{device}/ports")):
            place = f"/sys/class/infiniband/{device}/ports/{port}"
            rate, state, layer = (read(f"{place}/{name}") for name in ("rate", "state", "link_layer"))
            link = now.understood(place, hardware.infiniband, device, rate, state, layer)
            found.append(link)
    for device in now.sound("the interface", listed("/sys/class/net")):
        # Without a device it is a bridge, a tunnel or one end of a pair: its rate is no cable's.
        if listed(f"/sys/class/net/{device}/device"):
            found.append(hardware.ethernet(device, read(f"/sys/class/net/{device}/speed")))
    return [link for link in found if link is not None]


def _software(now: Look, pmis: tuple[str, ...]) -> tuple[str, tuple[Mpi, ...]]:
    """Return the module system, and the MPIs of the site: by modules, or else the one on PATH."""
    machine = now.machine
    system = "nomod"
    if "LMOD_CMD" in machine.variables or "LMOD_VERSION" in machine.variables:
        system = "lmod"
    elif "MODULES_CMD" in machine.variables or "MODULESHOME" in machine.variables:
        system = "envmod"
    if system != "nomod":
        mpis = _of_modules(now, system, pmis)
        if mpis:
            return system, mpis
    return system, _on_path(now, pmis)


def _module(now: Look, command: str) -> str:
    """Return what `module` prints: it is a function of login shells."""
    return now.machine.ask("bash", "--login", "-c", f"module {command} 2>&1") or ""


def _of_modules(now: Look, system: str, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    listed, refused = modules.available(_module(now, "-t avail"))
    if system == "lmod" and not any(modules.best(listed, pattern) for pattern in modules.FAMILIES.values()):
        # What can be loaded behind a compiler's module only shows in `spider`.
        listed, refused = modules.available(_module(now, "-t spider"))
        if listed:
            now.notes.append("MPIs appear only in `module spider`: their compiler's module may have to be loaded first")
    now.refused += [f"the module {quoted(name)}" for name in refused if _looks_like_ours(name)]
    found = []
    for family, pattern in modules.FAMILIES.items():
        module = modules.best(listed, pattern)
        if module is not None:
            found.append((family, module))
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
        for family, module in found
    )


def _looks_like_ours(name: str) -> bool:
    return any(re.search(f"({pattern})", name, re.IGNORECASE) for pattern in modules.FAMILIES.values())


def _suites(now: Look, listed: list[modules.Module], family: str, *, alone: bool) -> tuple[Suite, ...]:
    """Return the suites whose modules were built with an MPI, or do not say with which and there is only this one."""
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
        found.append(Suite(suite, module.name, module.version, _prefix_of(now, module, suite)))
    return tuple(found)


def _prefix_of(now: Look, module: modules.Module, suite: str) -> str | None:
    """Return where the suite of a module is, if the module tells and it can be in a job script."""
    prefix = modules.prefix(_module(now, f"show {module.name}"), suite)
    if prefix is None or not prefix.startswith("/"):
        return None
    try:
        return str(sound_path(f"the prefix of {module.name}", prefix))
    except FabricError as error:
        now.refused.append(str(error))
        return None


def _on_path(now: Look, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    if not now.machine.has("mpicc"):
        return ()
    said = now.machine.ask("mpirun", "--version") or ""
    for family, pattern in _SAYS.items():
        if match := re.search(pattern, said):
            prefix = _prefix_of_mpicc(now)
            return (Mpi(family, match[1].rstrip("."), "", "mpicc", _pmi(family, pmis), prefix=prefix),)
    return ()


def _prefix_of_mpicc(now: Look) -> str:
    """Return where the MPI on PATH is, if it can be in a job script."""
    prefix = now.machine.prefix_of("mpicc")
    try:
        return str(sound_path("the prefix of mpicc", prefix)) if prefix else ""
    except FabricError as error:
        now.refused.append(str(error))
        return ""


#: Where Slurm's packages put its libraries for MPIs.
_LIBRARIES = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/opt/slurm/lib64", "/opt/slurm/lib", "/usr/local/lib")


def _pmi_library(now: Look) -> str:
    """Return Slurm's library of PMI-2, which Intel MPI does not find by itself; nothing if it is in no usual place."""
    for folder in _LIBRARIES:
        for name in ("libpmi2.so", "libpmi2.so.0"):
            if name in now.machine.listed(folder):
                return f"{folder}/{name}"
    now.notes.append("no libpmi2.so was found; Intel MPI may need one in I_MPI_PMI_LIBRARY to be started by srun")
    return ""


def _pmi(family: str, offered: tuple[str, ...]) -> str:
    """Return what `srun --mpi` has to be for an MPI: the best that Slurm offers; empty if it offers none for it."""
    for wanted in _PMI[family]:
        for pmi in offered:
            if pmi == wanted or pmi.startswith(f"{wanted}_v"):
                return pmi
    return ""
