# SPDX-License-Identifier: BSD-3-Clause
"""Detect the machine: run each tool that is present, and keep the parts of its output that can be used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from fabric_checks.core.errors import FabricError, OutputError, quoted
from fabric_checks.core.paths import name_is_sound, sound_path
from fabric_checks.core.text import first_of, names_text, one_line
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
    "hpcx-mpi": ("pmix", "pmi2"),
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
    #: The modules that are not taken, by the reason.
    not_taken: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def has_lmod(self) -> bool:
        """Tell whether the module system is Lmod."""
        return bool({"LMOD_CMD", "LMOD_VERSION"} & set(self.machine.variables))

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
        """Return the folder of an installation if it is safe in a job script; else an empty text, with a
        note."""
        if not prefix or not prefix.startswith("/"):
            return ""
        try:
            return str(sound_path(kind, prefix))
        except FabricError as error:
            self.notes.append(str(error))
            return ""

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
    system, mpis = _software(now, found.pmis)
    return replace(
        found,
        host=host,
        links=tuple(hardware.fastest(_links(now))),
        cores=now.parsed("lscpu", hardware.cores, machine.ask("lscpu") or ""),
        modules=system,
        mpis=mpis,
        notes=(
            *now.notes,
            *(f"not taken, {why}: {names_text(names, 6)}" for why, names in now.not_taken.items()),
        ),
        asked=machine.asked,
    )


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
        f"{command.split()[0]}: {fault}" for command, fault in now.machine.asked.items() if fault != "ok"
    ]
    why = [*faults, *now.notes] or [f"{', '.join(there)}: no node is in service and takes jobs"]
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
    features = ask("sinfo", "--noheader", "--format=%P|%f") or ""
    settings = slurm.settings(ask("scontrol", "show", "config") or "")
    user = now.machine.variables.get("USER", "")
    associations = ""
    if name_is_sound(user):
        wanted = ("show", "associations", f"user={user}", "format=account,qos")
        associations = ask("sacctmgr", "--noheader", "--parsable2", *wanted) or ""
    accounts, qos = slurm.associations(associations)
    types = ask("srun", "--mpi=list") or ""
    if broken := slurm.broken_mpi_types(types):
        now.notes.append(f"srun offers {', '.join(broken)}, but cannot load it, so it is not used")
    cluster = settings.get("ClusterName", "")
    return Facts(
        scheduler="slurm",
        cluster=cluster if name_is_sound(cluster) else "",
        queues=now.usable("the partition", now.parsed("sinfo", slurm.queues, groups, limits, features)),
        accounts=tuple(now.sound("the account", accounts)),
        qos=tuple(now.sound("the QOS", qos)),
        pmis=tuple(now.parsed("srun --mpi=list", slurm.mpi_types, types) or ()),
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
        scheduler="flux",
        queues=now.usable("the queue", now.parsed("flux resource R", flux.queues, resources)),
    )


#: The tool by which each scheduler is detected, and the function that runs its tools. The first with nodes is
#: taken: a site may have commands of several.
_SCHEDULERS: dict[str, Callable[[Look], Facts]] = {
    "sinfo": _slurm,
    "bhosts": _lsf,
    "pbsnodes": _pbs,
    "flux": _flux,
}


def _links(now: Look) -> list[hardware.Link]:
    """Return the links of this host that are up: ``ibstat`` and ``ethtool`` print the contents of the same
    files."""
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
    if now.has_lmod:
        system = "lmod"
    else:
        system = (
            _environment_modules() if {"MODULES_CMD", "MODULESHOME"} & set(now.machine.variables) else "nomod"
        )
    mpis = (() if system == "nomod" else _of_modules(now, pmis)) or _on_path(now, pmis)
    if pmis:
        now.notes += [
            f"srun --mpi=list offers nothing that starts {mpi.family}" for mpi in mpis if not mpi.pmi
        ]
    return system, mpis


def _environment_modules() -> str:
    """Return the name that the ReFrame at hand has for Environment Modules of releases 4 and later."""
    with suppress(PackageNotFoundError, ValueError):
        return "envmod" if tuple(map(int, version("ReFrame-HPC").split(".")[:2])) >= (4, 10) else "tmod4"
    return "envmod"


def _module(now: Look, command: str) -> str:
    """Return the output of `module`, a function of login shells; the same command is run once."""
    words = ("bash", "--login", "-c", f"module {command} 2>&1")
    if words not in now.answers:
        now.answers[words] = now.machine.ask(*words) or ""
    return now.answers[words]


def _of_modules(now: Look, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    listed, refused = modules.available(_module(now, "-t avail"))
    # Modules behind those of a compiler or an MPI only show in Lmod's `spider`.
    found, more = modules.available(_module(now, "-t spider") if now.has_lmod else "")
    at_hand = {module.name for module in listed}
    hidden = [module for module in found if module.name not in at_hand]
    ours = re.compile("|".join(modules.FAMILIES.values()), re.IGNORECASE)
    for name in filter(ours.search, dict.fromkeys([*refused, *more])):
        now.notes.append(f"the module {quoted(name)}{_LEFT_OUT}")
    best = [modules.best(listed, family) or modules.best(hidden, family) for family in modules.FAMILIES]
    chosen = [module for module in best if module is not None]
    every = [*listed, *hidden]
    mpis = tuple(_of_module(now, module, pmis, every, alone=len(chosen) == 1) for module in chosen)
    _note_others(now, every, mpis)
    return mpis


def _of_module(
    now: Look, module: modules.Module, pmis: tuple[str, ...], every: list[modules.Module], *, alone: bool
) -> Mpi:
    """Return an MPI with the suites that were built with it; :param every: all modules."""
    family, pmi, needs = module.software, _pmi(module.software, pmis), _needs(now, module.name)
    return Mpi(
        family,
        module.version,
        module.name,
        "cc" if family == "cray-mpich" else "mpicc",
        pmi,
        _suites(now, every, module, needs, alone=alone),
        pmi_library=_pmi_library(now) if family == "intel-oneapi-mpi" and pmi else "",
        needs=tuple(needs),
    )


def _sets(now: Look, name: str) -> list[list[str]]:
    """Return the sets of modules of which one has to be loaded before a module."""
    return modules.needed_before(_module(now, f"spider {name}")) if now.has_lmod else []


def _needs(now: Look, name: str, at_hand: Iterable[str] = ()) -> list[str]:
    """Return the modules to load before one: of several sets the one at hand, that of GCC, or the first."""
    sets = _sets(now, name)
    loaded = {*now.machine.variables.get("LOADEDMODULES", "").split(":"), *at_hand}
    by_gcc = [names for names in sets if re.match("gcc|gnu", names[-1], re.IGNORECASE)]
    return next(iter([*(names for names in sets if set(names) <= loaded), *by_gcc, *sets]), [])


def _suites(
    now: Look, listed: list[modules.Module], mpi: modules.Module, needs: list[str], *, alone: bool
) -> tuple[Suite, ...]:
    """Return the suites whose modules were built with an MPI, or do not name one where there is only this
    one."""
    there = _built_with(now, listed, mpi, needs, alone=alone)
    newest = max((module.toolchain for module in there), default="")
    found = []
    for module in there:
        prefix = modules.prefix(_show(now, module, mpi, needs), module.software)
        folder = now.sound_prefix(f"the prefix of {module.name}", prefix)
        if why := _why_not(now, module, [*needs, mpi.name], newest, folder):
            now.not_taken.setdefault(why, []).append(module.name)
        else:
            found.append(Suite(module.software, module.name, module.version, folder or None))
    return tuple(found)


def _built_with(
    now: Look, listed: list[modules.Module], mpi: modules.Module, needs: list[str], *, alone: bool
) -> list[modules.Module]:
    """Return the best module of each suite that was built with an MPI, or may have been."""
    own, unknown = [], []
    for module in listed:
        if module.software in modules.SUITES and module.version:
            is_built = _is_built(now, module, mpi, needs)
            if is_built:
                own.append(module)
            elif alone and is_built is None:
                unknown.append(module)
    best = [modules.best(own, suite) or modules.best(unknown, suite) for suite in modules.SUITES]
    return [module for module in best if module is not None]


def _show(now: Look, module: modules.Module, mpi: modules.Module, needs: list[str]) -> str:
    before = _needs(now, module.name, [*needs, mpi.name])  # without these Lmod shows nothing of it
    load = f"load {' '.join(before)} >/dev/null 2>&1 && module " if before else ""
    return _module(now, f"{load}show {module.name}")


def _is_built(now: Look, module: modules.Module, mpi: modules.Module, needs: list[str]) -> bool | None:
    """Return whether a suite was built with an MPI, None if nothing shows; its module is read only where it
    has to."""
    built = modules.built_with(module, mpi)
    if built is not None:
        return built
    text = _show(now, module, mpi, needs)
    sets = map(" ".join, _sets(now, module.name))
    return modules.built_with(
        module, mpi, modules.loaded(text), *sets, modules.prefix(text, module.software) or ""
    )


def _why_not(now: Look, module: modules.Module, loaded: list[str], toolchain: str, folder: str) -> str:
    """Return why a suite is not taken although it was built with the MPI; an empty text if nothing is
    wrong."""
    before = _needs(now, module.name, loaded)
    file = modules.NEEDED.get(module.software)
    if module.toolchain not in ("", toolchain):
        return "as it belongs to another toolchain and cannot share a job with the others"
    if not set(before) <= set(loaded):
        return f"as it needs {' '.join(before)} and not {' '.join(loaded)}"
    if folder and file and not now.machine.read(f"{folder}/{file}"):
        return f"without {folder}/{file}: name the folder of its inputs in the file (`inputs=`)"
    return ""


def _note_others(now: Look, listed: list[modules.Module], mpis: tuple[Mpi, ...]) -> None:
    """Note the modules that are, or look like, an MPI or a suite and are in no environment."""
    taken = {name for mpi in mpis for name in mpi.modules}
    software = {module.software for module in listed if module.name in taken}
    mpi = " or ".join(mpi.module for mpi in mpis) or "an MPI"

    def why(module: modules.Module) -> str:
        if not module.software:
            return "though it looks like an MPI or a suite" if module.looks_like_one else ""
        if module.software in software:
            return "as another one of it is"
        return (
            f"as nothing shows that it was built with {mpi}"
            if module.version
            else "as its name has no version"
        )

    explained = taken.union(*now.not_taken.values())
    for module in listed:
        if module.name not in explained and (reason := why(module)):
            now.not_taken.setdefault(reason, []).append(module.name)


def _on_path(now: Look, pmis: tuple[str, ...]) -> tuple[Mpi, ...]:
    if not now.machine.has("mpicc"):
        return ()
    text = now.machine.ask("mpirun", "--version")
    for family, pattern in _VERSIONS.items():
        if release := _first(pattern, text):
            prefix = now.sound_prefix("the prefix of mpicc", now.machine.prefix_of("mpicc"))
            return (Mpi(family, release.rstrip("."), "", "mpicc", _pmi(family, pmis), prefix=prefix),)
    return ()


#: The folders of Slurm's packages for its libraries for MPIs.
_LIBRARIES = (
    *("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"),
    *("/opt/slurm/lib64", "/opt/slurm/lib", "/usr/local/lib"),
)


def _pmi_library(now: Look) -> str:
    """Return Slurm's library of PMI-2, which Intel MPI does not find by itself; empty if it is in no usual
    folder."""
    for folder in _LIBRARIES:
        for name in ("libpmi2.so", "libpmi2.so.0"):
            if name in now.machine.listed(folder):
                return f"{folder}/{name}"
    now.notes.append(
        "no libpmi2.so was found; Intel MPI may need one in I_MPI_PMI_LIBRARY to be started by srun"
    )
    return ""


def _pmi(family: str, offered: tuple[str, ...]) -> str:
    """Return the value of `srun --mpi` for an MPI: the best that Slurm offers; empty if it offers none for
    it."""
    found = (
        pmi for wanted in _PMI[family] for pmi in offered if pmi == wanted or pmi.startswith(f"{wanted}_v")
    )
    return next(found, "")
