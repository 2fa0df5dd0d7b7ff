# SPDX-License-Identifier: BSD-3-Clause
"""Read ``module -t avail`` for MPIs and suites, and ``module show`` for the prefix of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: The names of MPIs as modules, by Spack's name of each.
FAMILIES = {
    "openmpi": r"open-?mpi|hpcx(-mt)?(-ompi)?",
    "mpich": r"mpich",
    "intel-oneapi-mpi": r"impi|intel-?mpi|intel-oneapi-mpi",
    "mvapich2": r"mvapich2?",
    "cray-mpich": r"cray-mpich",
    "spectrum-mpi": r"spectrum-mpi",
}
#: The names of suites as modules.
SUITES = {
    "osu": r"osu([-_]?(micro[-_]?)?benchmarks)?|omb",
    "imb": r"imb|intel-mpi-benchmarks",
    "lammps": r"lammps",
    "npb": r"npb",
}
#: The parts of a module's name that show the MPI it was built with: the MPI's own, and toolchains of EasyBuild.
_BUILT_WITH = {
    "openmpi": r"openmpi|gompi|foss|hpcx",
    "mpich": r"(?<![a-z])mpich",
    "intel-oneapi-mpi": r"i?impi|intel",
    "mvapich2": r"mvapich",
    "cray-mpich": r"cray|cpe",
    "spectrum-mpi": r"spectrum",
}
#: A word that is safe after `module load` in a job script.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/@-]{0,120}")


@dataclass(frozen=True)
class Module:
    """A module: the name to load, and its parts."""

    name: str
    is_default: bool = False

    @property
    def software(self) -> str:
        """The software: ``OpenMPI`` of ``mpi/OpenMPI/4.1.5-GCC-12.3.0``, ``openmpi`` of ``mpi/openmpi-x86_64``."""
        parts = self.name.split("/")
        if parts[-2:-1] == ["mpi"]:
            return parts[-1].removesuffix("-x86_64")
        return parts[-2] if len(parts) > 1 else parts[0]

    @property
    def version(self) -> str:
        """The leading numbers of its version, or its date, or nothing."""
        text = self.name.rpartition("/")[2] if "/" in self.name else ""
        if date := re.match(r"(\d{1,2})[_-]?([A-Z][a-z]{2})[_-]?(\d{4})", text):
            return f"{int(date[1])} {date[2]} {date[3]}"  # as LAMMPS is released
        match = re.match(r"v?(\d+(?:\.\d+)*)", text)
        return match[1] if match else ""

    @property
    def toolchain(self) -> str:
        """The release of its toolchain of EasyBuild: ``2023b`` of ``IMB/2021.3-gompi-2023b``; or nothing."""
        match = re.search(r"-(20\d\d[ab])(-|$)", self.name)
        return match[1] if match else ""

    @property
    def rank(self) -> tuple[bool, list[int], str]:
        """The sort key for modules of one software: the default and the newest are the greatest."""
        return self.is_default, list(map(int, re.findall(r"\d+", self.version))), self.name


def available(text: str) -> tuple[list[Module], list[str]]:
    """Return the modules of a terse listing, and the lines that cannot be a name in a job script."""
    found: dict[str, Module] = {}
    refused = []
    for line in text.splitlines():
        name = line.strip()
        if not name or name.endswith((":", "/")):
            continue  # a folder of modules
        name, _, tags = name.partition("(")
        if not _NAME.fullmatch(name) or ".." in name:
            refused.append(line)
        else:
            found[name] = Module(name, "default" in tags or re.search(r"(^|[(:])D([):]|$)", f"({tags}") is not None)
    return list(found.values()), refused


def best(modules: Iterable[Module], pattern: str) -> Module | None:
    """Return the default module of a software, or else the newest."""
    named = [module for module in modules if re.fullmatch(pattern, module.software, re.IGNORECASE)]
    return max(named, key=lambda module: module.rank, default=None)


def built_with(module: Module, family: str) -> bool | None:
    """Return whether the name of a module shows that it was built with an MPI; None if it shows none."""
    rest = module.name[len(module.name.rpartition("/")[0]) :]
    if re.search(_BUILT_WITH[family], rest, re.IGNORECASE):
        return True
    return False if any(re.search(other, rest, re.IGNORECASE) for other in _BUILT_WITH.values()) else None


def prefix(text: str, suite: str) -> str | None:
    """Return the prefix of a suite from what ``module show`` adds to PATH; None if that does not show it.

    Lmod writes ``prepend_path("PATH","/apps/imb/bin")``, Environment Modules ``prepend-path PATH /apps/imb/bin``.
    """
    pattern = r"""prepend[-_]path\b[^\n]*?(?<!\w)PATH(?!\w)["}]?[ \t,]+["{]?([^\s"{},)]+)"""
    for path in re.findall(pattern, text):
        if suite == "osu":
            if "/libexec/osu-micro-benchmarks" in path:
                return str(path).partition("/libexec/osu-micro-benchmarks")[0]
        elif path.endswith("/bin"):
            return str(path).removesuffix("/bin")
    if suite == "osu":
        # EasyBuild's name of the variable with the prefix.
        match = re.search(r"""setenv[ \t(]+"?EBROOTOSU\w*"?[ \t,]+["{]?([^\s"{},)]+)""", text)
        return match[1] if match else None
    return None
