# SPDX-License-Identifier: BSD-3-Clause
"""Read ``module -t avail`` for MPIs and suites, and ``module show`` and ``module spider`` for what one
needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

#: The names of MPIs as modules, by Spack's name of each; those of machines' and adapters' vendors are the
#: first.
FAMILIES = {
    "cray-mpich": r"cray-mpich",
    "spectrum-mpi": r"spectrum-mpi",
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
#: A file below the prefix of a suite without which it is of no use.
NEEDED = {"lammps": "share/lammps/bench/in.lj"}
#: An MPI in a name or a path, with the number behind it.
_NAMED = re.compile(
    r"((?<![a-z])|(?<=[^a-z]i))("
    + "|".join(f"(?P<{family.replace('-', '_')}>{pattern})" for family, pattern in FAMILIES.items())
    + r")([-_/]*v?(?P<number>\d[\d.]*\d|\d)(?![\w.]))?",
    re.IGNORECASE,
)
#: Toolchains of EasyBuild, and compilers that count as an MPI where none is named.
_TOOLCHAINS = {"openmpi": r"gompi|foss", "intel-oneapi-mpi": r"intel", "cray-mpich": r"cray|cpe"}
_COMPILER = r"(gcc|gnu|intel|icc|pgi|nvhpc|nvidia|aocc|clang|llvm|cce|oneapi|compilers?)"
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
    *((family, rf"({_NEUTRAL}/)*(stack-)?", pattern) for family, pattern in FAMILIES.items()),
    ("intel-oneapi-mpi", rf"(?=.*(intel|oneapi|(\b|[_a-z])20[12]\d))({_NEUTRAL}/)*", "mpi"),
]
_SOFTWARE = [
    (software, re.compile(rf"{before}({names})(?P<rest>([-_.\d][^/]*)?)(?P<behind>(/.*)?)", re.IGNORECASE))
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
#: Names that look like an MPI's or a suite's, but are none that is known.
_LIKE = re.compile(
    rf"({_NEUTRAL}/)*(({_COMPILER}-)?(open-?mpi|hpcx|mpich|mvapich|(ps|para\w*|bullx|platform|hpe|sgi)[-_]?mpi|ompi|mpt|i?mpi)"
    r"\d*(\W|_|$)|\w*[-_]?(osu[-_]|omb\b|imb\b|lammps|npb|mpi-benchmarks))",
    re.IGNORECASE,
)
#: A word that is safe after `module load` in a job script.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/@-]{0,120}")


@dataclass(frozen=True)
class Module:
    """A module: the name to load, and the folder of its file where the listing has it."""

    name: str
    is_default: bool = False
    folder: str = ""

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
    def looks_like_one(self) -> bool:
        """Tell whether it may be an MPI or a suite, under a name that is not known."""
        return not self.software and _LIKE.match(self.name) is not None

    @property
    def version(self) -> str:
        """The leading numbers of its version, or its date, or nothing."""
        found = self._numbers
        if not found:
            return ""
        return f"{int(found['day'])} {found['month']} {found['year']}" if found["day"] else found["version"]

    @property
    def remainder(self) -> str:
        """What its name has besides the software and its version."""
        _, form = self._found
        if form is None:
            return self.name
        found = self._numbers
        behind = self.name[form.start("rest") :]
        if found:
            behind = f"{self.name[form.start('rest') : found.start('version')]} {self.name[found.end() :]}"
        return f"{self.name[: form.start('rest')].rpartition('/')[0]} {behind}"

    @property
    def toolchain(self) -> str:
        """The release of its toolchain of EasyBuild: ``2023b`` of ``IMB/2021.3-gompi-2023b``; or nothing."""
        match = re.search(r"-(20\d\d[ab])(-|$)", self.name)
        return match[1] if match else ""

    @property
    def rank(self) -> tuple[bool, bool, list[int], str]:
        """The sort key for modules of one software: the default and the newest are the greatest."""
        return (
            not self.is_variant,
            self.is_default,
            list(map(int, re.findall(r"\d+", self.version))),
            self.name,
        )


def available(text: str) -> tuple[list[Module], list[str]]:
    """Return the modules of a terse listing, and the lines that cannot be a name in a job script."""
    found: dict[str, Module] = {}
    refused = []
    folder = ""
    for line in text.splitlines():
        name = line.strip()
        if name.endswith(":"):
            folder = name[:-1]
        if not name or name.endswith((":", "/")):
            continue
        name, _, tags = name.partition("(")
        if not _NAME.fullmatch(name) or ".." in name:
            refused.append(line)
        else:
            is_default = "default" in tags or re.search(r"(^|[(:])D([):]|$)", f"({tags}") is not None
            found.setdefault(
                name, Module(name, is_default, folder)
            )  # of two, the first on MODULEPATH is loaded
    return list(found.values()), refused


def best(modules: Iterable[Module], software: str) -> Module | None:
    """Return the default module of a family or suite, or else the newest; a variant if there is nothing
    else."""
    return max((one for one in modules if one.software == software), key=lambda one: one.rank, default=None)


def built_with(module: Module, mpi: Module, *shown: str) -> bool | None:
    """Return whether a suite was built with an MPI, by its name, its folder, or what it loads; None if
    nothing shows.

    :param shown: lists of modules that it loads or needs, each one sufficient, or paths that belong to it.
    """
    own = module.remainder
    for texts in ([own], shown, [module.folder]):
        named = [match for text in texts for match in list(_NAMED.finditer(text))[-1:]]
        if named:
            return any(_is_of(match, mpi) for match in named)
        toolchains = [
            family for family, word in _TOOLCHAINS.items() if texts == [own] and re.search(word, own, re.I)
        ]
        if toolchains:
            return toolchains[0] == mpi.software
    return None


def _is_of(named: re.Match[str], mpi: Module) -> bool:
    """Tell whether an MPI that a text names is this one, as far as numbers are known of both."""
    release, own = named["number"], mpi.version
    return bool(named[mpi.software.replace("-", "_")]) and (
        not (release and own) or f"{own}.".startswith(f"{release}.")
    )


def loaded(text: str) -> str:
    """Return the names that ``module show`` says it loads or needs, a line each."""
    pattern = r"""^\s*(?:always_load|load|depends[-_]on|prereq|module load)\b[^\w\n]+(.*)$"""
    return "\n".join(re.findall(pattern, text, re.MULTILINE))


def needed_before(text: str) -> list[list[str]]:
    """Return the modules that have to be loaded before one, from Lmod's ``module spider NAME/VERSION``.

    Each entry is sufficient; there is none if the module can be loaded directly.
    """
    _, *behind = re.split(r"one\s+of\s+the\s+lines\s+below\s+before", text, maxsplit=1)
    blocks = re.split(r"\n[ \t]*\n", behind[0]) if behind else []
    found = [line.split() for line in blocks[1].splitlines()] if len(blocks) > 1 else []
    return [names for names in found if names and all(map(_NAME.fullmatch, names))]


def prefix(text: str, suite: str) -> str | None:
    """Return the prefix of a suite from what ``module show`` adds to PATH; None if that does not show it.

    Lmod writes ``prepend_path("PATH","/apps/imb/bin")``, Environment Modules ``prepend-path PATH
    /apps/imb/bin``.
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
