# SPDX-License-Identifier: BSD-3-Clause
"""Read ``module -t avail`` for MPIs and suites, and ``module show`` and ``module spider`` for what one needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

#: The names of MPIs as modules, by Spack's name of each; those of machines' and adapters' vendors are the first.
FAMILIES = {
    "cray-mpich": r"cray-mpich",
    "spectrum-mpi": r"spectrum-mpi",
    "hpcx-mpi": r"hpcx(-mt)?(-o?mpi)?",
    "openmpi": r"open-?mpi",
    "intel-oneapi-mpi": r"impi|intel-?mpi|intel-oneapi-mpi",
    "mvapich2": r"mvapich2?(-gdr|-x|-plus)?",
    "mpich": r"mpich",
}
#: The names of suites as modules.
SUITES = {
    "osu": r"osu([-_]?(micro[-_]?)?benchmarks)?|omb",
    "imb": r"imb|intel-mpi-benchmarks",
    "lammps": r"lammps",
    "npb": r"npb",
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
#: Parts of a name that stand before that of an MPI: kinds of software, compilers, architectures, versions.
_COMPILER = r"(gcc|gnu|intel|icc|pgi|nvhpc|nvidia|aocc|clang|llvm|cce|oneapi|compilers?)"
_NEUTRAL = re.compile(
    rf"mpis?|parallel|toolkits?|tools?|lib(s|raries)?|apps?|devel|system|core|soft(ware)?|modules?|x86_64|aarch64"
    rf"|intel-oneapi|{_COMPILER}([-_.]?v?\d[\w.]*)?|v?\d[\w.]*",
    re.IGNORECASE,
)
#: What may follow the name of an MPI or a suite in the same part; anything else is a variant, such as `openmpi-debug`.
_PLAIN = re.compile(rf"(v?\d|x86_64|aarch64|{_COMPILER}(\W|_|\d|$)).*", re.IGNORECASE)
#: Names that look like an MPI's or a suite's, but are none that is known.
_LIKE = re.compile(
    rf"({_COMPILER}-)?(open-?mpi|hpcx|mpich|mvapich|(ps|para\w*|bullx|platform|hpe|sgi)[-_]?mpi|ompi|mpt|i?mpi)\d*(\W|_|$)"
    r"|\w*[-_]?(osu[-_]|omb\b|imb\b|lammps|npb|mpi-benchmarks)",
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
    def _found(self) -> tuple[str, str, int]:
        """The family or suite, the rest of the part of the name that has it, and the number of the part; or nothing."""
        parts = self.name.split("/")
        for number, part in enumerate(parts):
            if found := _matched(SUITES, part):
                return *found, number
        for number, part in enumerate(parts):
            if found := _matched(FAMILIES, part):
                return *found, number
            # Intel's own modules, and copies: mpi/2021.11, oneapi/mpi/latest, intel/mpi-2021.2.0, mpi/intel/2019.5.
            match = re.fullmatch(r"mpi(?P<rest>[-_.\d].*)?", part, re.IGNORECASE)
            is_intel = re.search(r"intel|oneapi|(\b|[_a-z])20[12]\d", self.name, re.IGNORECASE)
            if match and is_intel and not any(_matched(FAMILIES, each) for each in parts[number + 1 :]):
                return "intel-oneapi-mpi", match["rest"] or "", number
            if not _NEUTRAL.fullmatch(part):
                break
        return "", "", -1

    @property
    def software(self) -> str:
        """The family of MPIs or the suite that it is, or nothing."""
        return self._found[0]

    @property
    def is_variant(self) -> bool:
        """Tell whether its name has more than software, compiler and version: ``openmpi-debug``, ``mpich-abi``."""
        rest = self._found[1].lstrip("-_.")
        return bool(rest) and _PLAIN.fullmatch(rest) is None

    @property
    def looks_like_one(self) -> bool:
        """Tell whether it may be an MPI or a suite, under a name that is not known."""
        parts = (part for part in self.name.split("/") if part.lower() == "mpi" or not _NEUTRAL.fullmatch(part))
        return not self.software and _LIKE.match(next(parts, "")) is not None

    @property
    def version(self) -> str:
        """The leading numbers of its version, or its date, or nothing."""
        _, rest, number = self._found
        if glued := re.match(r"\d+\.[\d.]*\d", rest):
            return glued[0]
        if found := _version(rest[1:]) if rest[:1] in ("-", "_", ".") else "":
            return found
        parts = self.name.split("/")
        behind = [part for part in parts[number + 1 :] if part not in ("32", "64")] if number >= 0 else []
        versions = [(at, found) for at, part in enumerate(behind) if (found := _version(part))]
        # In openmpi/gcc/64/4.1.5 and openmpi/gcc/9.3.0/4.1.5 the number behind the compiler is not the version's.
        own = [found for at, found in versions if at == 0 or not re.fullmatch(_COMPILER, behind[at - 1], re.IGNORECASE)]
        return next(iter([*own, *(found for _, found in versions[-1:])]), "")

    @property
    def remainder(self) -> str:
        """What its name has besides the software and its version."""
        _, rest, number = self._found
        parts = self.name.split("/")
        behind = [part for part in parts[number + 1 :] if _version(part) != self.version or re.search("[a-z]{3}", part)]
        return "/".join([*parts[:number], rest, *behind])

    @property
    def toolchain(self) -> str:
        """The release of its toolchain of EasyBuild: ``2023b`` of ``IMB/2021.3-gompi-2023b``; or nothing."""
        match = re.search(r"-(20\d\d[ab])(-|$)", self.name)
        return match[1] if match else ""

    @property
    def rank(self) -> tuple[bool, bool, list[int], str]:
        """The sort key for modules of one software: the default and the newest are the greatest."""
        return not self.is_variant, self.is_default, list(map(int, re.findall(r"\d+", self.version))), self.name


def _matched(names: Mapping[str, str], part: str) -> tuple[str, str] | None:
    """Return which of some software a part of a name is, and what follows in it."""
    for name, pattern in names.items():
        if match := re.fullmatch(rf"({pattern})(?P<rest>([-_.]|\d).*)?", part, re.IGNORECASE):
            return name, match["rest"] or ""
    return None


def _version(text: str) -> str:
    if date := re.match(r"(\d{1,2})[_-]?([A-Z][a-z]{2})[_-]?(\d{4})", text):
        return f"{int(date[1])} {date[2]} {date[3]}"  # as LAMMPS is released
    match = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return match[1] if match else ""


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
            found.setdefault(name, Module(name, is_default, folder))  # of two, the first on MODULEPATH is loaded
    return list(found.values()), refused


def best(modules: Iterable[Module], software: str) -> Module | None:
    """Return the default module of a family or suite, or else the newest; a variant if there is nothing else."""
    return max((one for one in modules if one.software == software), key=lambda one: one.rank, default=None)


def built_with(module: Module, mpi: Module, *shown: str) -> bool | None:
    """Return whether a suite was built with an MPI, by its name, its folder, or what it loads; None if nothing shows.

    :param shown: lists of modules that it loads or needs, each one sufficient, or paths that belong to it.
    """
    own = module.remainder
    for texts in ([own], shown, [module.folder]):
        named = [match for text in texts for match in list(_NAMED.finditer(text))[-1:]]
        if named:
            return any(_is_of(match, mpi) for match in named)
        toolchains = [family for family, word in _TOOLCHAINS.items() if texts == [own] and re.search(word, own, re.I)]
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
