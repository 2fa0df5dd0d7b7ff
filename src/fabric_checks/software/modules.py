# SPDX-License-Identifier: BSD-3-Clause
"""Read ``module -t avail`` for MPIs and suites, and ``module spider`` for what one needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

#: The names of MPIs as modules, by Spack's name of each; those of machines' and adapters' vendors are the
#: first.
FAMILIES = {
    "cray-mpich": r"cray-mpich",
    "hpcx-mpi": r"hpcx(-mt)?(-o?mpi)?",  # hpcx-mpi/2.25.1, hpcx-mt-ompi, mpi/hpcx-v2.5.0
    "openmpi": (
        r"open-?mpi"
    ),  # openmpi5/5.0.7, mpi/openmpi/4.1.1/gnu-4.9.2, openmpi/gcc.9/3.1.5, mpi/openmpi-x86_64
    "intel-oneapi-mpi": r"impi|intel-?mpi|intel-oneapi-mpi",  # mpi/impi_2018.4.274
    "mvapich2": r"mvapich2?(-gdr|-x|-plus)?",
    "mpich": r"mpich",
}
#: The names of suites as modules.
SUITES = {
    "osu": r"osu([-_]?(micro[-_]?)?benchmarks)?|omb",
    "imb": r"imb|intel-mpi-benchmarks",
    "lammps": r"lammps",
    "npb": r"npb",  # NPB3.4-MPI
}
_COMPILER = (
    r"(gcc|gnu|intel|icc|pgi|nvhpc|nvidia|aocc|clang|llvm|cce|oneapi|compilers?)"
)
#: Parts of a name that stand before that of an MPI: kinds of software, compilers, architectures, versions.
_NEUTRAL = (
    r"(mpis?|parallel|toolkits?|tools?|lib(s|raries)?|apps?|devel|system|core|soft(ware)?|modules?|x86_64|aarch64"
    rf"|intel-oneapi|{_COMPILER}([-_.]?v?\d[\w.]*)?|v?\d[\w.]*)"
)
#: What a name has before that of its software, and the name: a suite may stand behind any part, and Intel
#: calls its MPI `mpi` where its own name or a year is there, too (mpi/2021.11, oneapi/mpi/latest,
#: intel/mpi-2021.2.0). The modules of spack-stack begin with `stack-`.
_FORMS = [
    *((suite, r"([^/]+/)*", pattern) for suite, pattern in SUITES.items()),
    *(
        (family, rf"({_NEUTRAL}/)*(stack-)?", pattern)
        for family, pattern in FAMILIES.items()
    ),
    (
        "intel-oneapi-mpi",
        rf"(?=.*(intel|oneapi|(\b|[_a-z])20[12]\d))({_NEUTRAL}/)*",
        "mpi",
    ),
]
_SOFTWARE = [
    (
        software,
        re.compile(
            rf"{before}({names})(?P<rest>([-_.\d][^/]*)?)(?P<behind>(/.*)?)",
            re.IGNORECASE,
        ),
    )
    for software, before, names in _FORMS
]
#: The version behind a name: the date of a LAMMPS, or numbers. It may follow a major one (5/5.0.7), a variant
#: (-debug/9), or compilers, MPIs and widths, each with a number of its own (/gcc/9.3.0/4.1.5, /64/2020/2.54).
_VERSION = re.compile(
    r"(\d+(?=/)|[-_.](?!v\d)[a-z][^/]*(?=/))?(/(32|64|(?!v\d)[a-z][^/]*(/[\d.]+(?=/v?\d))?)(?=/))*"
    r"[-_./]?v?(?P<version>(?P<day>\d{1,2})[_-]?(?P<month>[a-z]{3})[_-]?(?P<year>\d{4})|\d+(\.\d+)*)",
    re.IGNORECASE,
)
#: What may follow the name of an MPI or a suite in the same part; anything else is a variant, such as
#: `openmpi-debug`.
_PLAIN = re.compile(rf"(v?\d|x86_64|aarch64|{_COMPILER}(\W|_|\d|$)).*|", re.IGNORECASE)
#: A word that is safe after `module load` in a job script.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/@-]{0,120}")


@dataclass(frozen=True)
class Module:
    """A module: the name to load."""

    name: str
    is_default: bool = False

    @cached_property
    def _found(self) -> tuple[str, re.Match[str] | None]:
        """The family or suite that it is, or nothing, and the parts of its name."""
        for software, form in _SOFTWARE:
            if match := form.fullmatch(self.name):
                return software, match
        return "", None

    @cached_property
    def _numbers(self) -> re.Match[str] | None:
        _, form = self._found
        return form and _VERSION.match(self.name, form.start("rest"))

    @property
    def software(self) -> str:
        """The family of MPIs or the suite that it is, or nothing."""
        return self._found[0]

    @property
    def is_variant(self) -> bool:
        """Tell whether its name has more than software, compiler and version: ``openmpi-debug``,
        ``mpich-abi``."""
        _, form = self._found
        return form is not None and not _PLAIN.fullmatch(form["rest"].lstrip("-_."))

    @property
    def version(self) -> str:
        """The leading numbers of its version, or its date, or nothing."""
        found = self._numbers
        if not found:
            return ""
        return (
            f"{int(found['day'])} {found['month']} {found['year']}"
            if found["day"]
            else found["version"]
        )

    @property
    def rank(self) -> tuple[bool, bool, list[int], str]:
        """The sort key for modules of one software: the default and the newest are the greatest."""
        return (
            not self.is_variant,
            self.is_default,
            list(map(int, re.findall(r"\d+", self.version))),
            self.name,
        )


def available(text: str) -> list[Module]:
    """Return the modules of a terse listing; a line that cannot be a name in a job script is none."""
    found: dict[str, Module] = {}
    for line in text.splitlines():
        name, _, tags = line.strip().partition("(")
        if _NAME.fullmatch(name) and ".." not in name and not name.endswith("/"):
            is_default = (
                "default" in tags
                or re.search(r"(^|[(:])D([):]|$)", f"({tags}") is not None
            )
            found.setdefault(
                name, Module(name, is_default)
            )  # of two, the first on MODULEPATH is loaded
    return list(found.values())


def best(modules: Iterable[Module], software: str) -> Module | None:
    """Return the default module of a family or suite, or else the newest; a variant if there is nothing
    else."""
    return max(
        (one for one in modules if one.software == software),
        key=lambda one: one.rank,
        default=None,
    )


def needed_before(text: str) -> list[list[str]]:
    """Return the modules that have to be loaded before one, from Lmod's ``module spider NAME/VERSION``.

    Each entry is sufficient; there is none if the module can be loaded directly.
    """
    _, *behind = re.split(r"one\s+of\s+the\s+lines\s+below\s+before", text, maxsplit=1)
    blocks = re.split(r"\n[ \t]*\n", behind[0]) if behind else []
    found = [line.split() for line in blocks[1].splitlines()] if len(blocks) > 1 else []
    return [names for names in found if names and all(map(_NAME.fullmatch, names))]
