# SPDX-License-Identifier: BSD-3-Clause
"""Turn what Spack printed into a message that says what failed and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: How many lines of a build log, or of Spack's own error, a message holds at most.
TELLING_LINES = 4

#: How long a line of a message may be; compiler command lines are longer.
LINE_LENGTH = 200

ERROR = re.compile(r"^==> Error: (?P<text>.*(?:\n(?!==> |\[\+\]).*)*)", re.MULTILINE)
#: `spack mirror` only warns of each source that it cannot fetch, and names the package in an error at the end.
WARNING = re.compile(ERROR.pattern.replace("Error", "Warning"), re.MULTILINE)
PACKAGE = re.compile(r"^==> Installing (\S+?)-\w{32}\b", re.MULTILINE)
#: A package in the error itself, often as the name of its stage or prefix.
NAMED = re.compile(r"(?:spack-stage-|[\s/'\"]|^)((?!spack-stage-)[a-z0-9_][^\s/'\":,;]*?)-[a-z2-7]{32}\b", re.MULTILINE)
LOG = re.compile(r"^\s+(/\S+/spack-build-(?:out|\d\d-[\w-]+-out)\.txt)$", re.MULTILINE)
#: The lines of the build log that Spack itself picks out, wrapped to the width of the terminal.
QUOTED_LOG = re.compile(r"^ {2}>> \d+ +(.*(?:\n {12}\S.*)*)", re.MULTILINE)
WRAPPED = re.compile(r"\n {12}")
COMPLAINT = re.compile(
    r"(?<![\w-])(?:error: |undefined reference|cannot find |command not found)|\*\*\*", re.IGNORECASE
)
FIRST_CAUSE = re.compile(r"(?<![\w-])(?:fatal |internal compiler )?error: ", re.IGNORECASE)


@dataclass(frozen=True)
class Cause:
    """A way in which Spack fails.

    :param name: what messages call it.
    :param pattern: finds it in the output, or in the build log.
    :param remedy: what to do.
    """

    name: str
    pattern: re.Pattern[str]
    remedy: str


def _cause(name: str, pattern: str, remedy: str) -> Cause:
    return Cause(name, re.compile(pattern, re.IGNORECASE | re.MULTILINE), remedy)


BUILD_FAILED = "the build failed"

#: The causes, the most telling first: a full disk breaks builds in many ways.
CAUSES = (
    _cause(
        "the disk is full",
        r"No space left on device|Disk quota exceeded|\[Errno 28\]|\[Errno 122\]",
        "free space, or move install_tree and build_stage (config.yaml of the site's scope)",
    ),
    _cause(
        "it cannot write",
        r"\[Errno (?:1|13|30)\]|read-only file|PermissionError|Lock(?:RO|Permission)\w*Error|No accessible stage paths",
        "check who owns the folder named and whether its file system is mounted for writing, or move install_tree, "
        "build_stage and the caches (config.yaml of the site's scope)",
    ),
    _cause(
        "git is missing",
        r"spack requires 'git'|git: (?:command )?not found|No such file or directory: '(?:\S*/)?git'",
        "install git, or load its module: Spack fetches its package repository with it",
    ),
    _cause(
        "out of memory",
        r"Killed signal terminated program|Cannot allocate memory|virtual memory exhausted|std::bad_alloc",
        "build with fewer jobs (`config: build_jobs:` in the site's scope), or where there is more memory",
    ),
    _cause(
        "checksum mismatch",
        r"ChecksumError|checksum failed for",
        "the archive is not that of the release; delete it in the mirror or source cache named and fetch it again",
    ),
    _cause(
        "no source can be fetched",
        r"All fetchers failed|FetchError|Will not fetch",
        "connect the machine to the network, or provide a source mirror that has it and name it in mirrors.yaml of "
        "the site's scope",
    ),
    _cause(
        "a scope is missing",
        r"Required path \(.*\) does not exist",
        "create that folder, or correct FABRIC_SPACK_ENVIRON, FABRIC_SPACK_SITE and FABRIC_SPACK_COMMON",
    ),
    _cause(
        "a scope is wrong",
        r"error parsing YAML|ConfigFormatError|ConfigFileError|is not valid under"
        r"|Additional properties are not allowed",
        "correct the file and line named",
    ),
    # Without a repository Spack knows no compilers either, so this comes before those.
    _cause(
        "no package repository",
        r"Error constructing repository|No repo\.yaml found|UnknownRepo|Unable to clone"
        r"|no repositor(?:y|ies) configured",
        "make sure that FABRIC_SPACK_PACKAGES_URL can be cloned, and delete the folder named, which holds half a "
        "clone; or name a clone of spack-packages, at the pinned release, in repos.yaml of the site's scope",
    ),
    _cause(
        "a compiler is missing",
        r"no compiler configured|cannot find working compilers"
        r"|Only external, or concrete, compilers are allowed|compiler\S* .*does not exist",
        "install it or load its module, or name it under packages: gcc: externals: in the site's scope",
    ),
    _cause(
        "Spack cannot load clingo",
        r"cannot bootstrap the \"clingo\"|clingo.*(?:bootstrap|ImportError|No module)|No module named 'clingo'",
        "set SPACK_PYTHON to a Python that has clingo (`pip install clingo`)",
    ),
    _cause(
        "patchelf is missing",
        r"cannot bootstrap any of the patchelf executables",
        "install it: Spack needs it to relocate packages from a build cache; or use a mirror with sources only",
    ),
    _cause(
        "Spack is too old",
        r"path_override_env_var.*(?:unexpected|not allowed)|newer version of Spack|unsupported.*lockfile",
        "1.1 or later is needed; name another with SPACK_ROOT",
    ),
    _cause(
        "the package repository is of another release",
        r"cannot match any known version|since '[-\w]+' does not exist|Package '[-\w]+' not found|UnknownPackageError"
        r"|requires Spack|package api",
        "check out the pinned release of spack-packages, or require a version that it has",
    ),
    _cause(
        "it cannot be concretized",
        r"failed to concretize|cannot concretize|UnsatisfiableSpecError|No solution|conflicts? with",
        "check what the scopes require of the packages named, and whether the externals offer it",
    ),
    _cause(
        "it was interrupted",
        r"Keyboard interrupt|KeyboardInterrupt|Terminated$|received signal|Killed$",
        "run it again; what is already built is kept",
    ),
    _cause(
        BUILD_FAILED,
        r"ProcessError|InstallError|See build log for details|Command exited with status",
        "see the log; the compiler or MPI of this environment may not suit this release",
    ),
)

_BY_NAME = {cause.name: cause for cause in CAUSES}

#: What a build log shows, and Spack's own words may not.
IN_LOG = (_BY_NAME["the disk is full"], _BY_NAME["out of memory"])
INTERRUPTED = _BY_NAME["it was interrupted"]
NO_GIT = _BY_NAME["git is missing"]
NO_REPOSITORY = _BY_NAME["no package repository"]
NOT_THERE = Cause(
    "Spack is missing", re.compile(""), "put `spack` on PATH, set SPACK_ROOT, or let `ci/run` install one"
)
UNKNOWN = Cause("it failed", re.compile(""), "run the same command by hand in the stage folder, with `spack -d`")


def telling(output: str) -> list[str]:
    """Return the lines of an output that say something, each of a readable length."""
    return _cut([line.strip() for line in output.splitlines() if line.strip()])


def read_text(path: Path) -> str:
    """Return the text of a build log, or nothing if it is gone: stages are cleaned."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def explain(output: str, exit_code: int, read_log: Callable[[Path], str] = read_text) -> str:
    """Return a message of a few lines: what failed, its most telling lines, what to do.

    :param output: all that ``spack concretize`` or ``spack install`` printed, both streams together.
    :param exit_code: its exit status; negative, or over 128, for a signal.
    :param read_log: returns the text of the build log that the output names.
    """
    named = LOG.findall(output)
    log = read_log(Path(named[-1])) if named else ""
    cause = _find(output, log, exit_code)
    package = _package(output, cause)
    head = f"Spack: {cause.name}{f' ({package})' if package else ''}, exit status {exit_code}"
    where = [f"build log: {named[-1]}"] if named else []
    return "\n".join(
        [head, *(f"  {line}" for line in [*_telling(cause, log, output), *where]), f"To do: {cause.remedy}"]
    )


def _find(output: str, log: str, exit_code: int) -> Cause:
    """Return the first cause that the output, or in a full machine the build log, shows."""
    if exit_code == 127:
        return NOT_THERE
    for cause in CAUSES:
        if cause.pattern.search(output) or (cause in IN_LOG and cause.pattern.search(log)):
            return cause
        if cause is INTERRUPTED and (exit_code < 0 or exit_code > 128):
            return cause
    return UNKNOWN


def _package(output: str, cause: Cause) -> str:
    """Return the package that the error names, else the one that was being installed when the cause showed.

    While concretizing there is none.
    """
    shown = cause.pattern.search(output) if cause.pattern.pattern else None
    if shown:
        error = next((text for text in _complaining(output) if cause.pattern.search(text)), "")
        named = NAMED.search(error)
        if named:
            return named[1]
    installing = PACKAGE.findall(output[: shown.start()] if shown else output)
    return installing[-1] if installing else ""


def _complaining(output: str) -> list[str]:
    """Return what Spack says in errors, then in warnings."""
    return [match["text"] for pattern in (ERROR, WARNING) for match in pattern.finditer(output)]


def _telling(cause: Cause, log: str, output: str) -> list[str]:
    """Return the lines that say most: complaints of the build log, else Spack's own error, else the last lines."""
    if cause.name == BUILD_FAILED:
        complaints = _complaints(log) or [WRAPPED.sub("", text) for text in QUOTED_LOG.findall(output)]
        if complaints:
            return _cut(list(dict.fromkeys(complaints))[:TELLING_LINES])
    for error in _complaining(output):
        if cause.pattern.pattern and cause.pattern.search(error):
            return _cut([line.strip() for line in error.splitlines() if line.strip()][:TELLING_LINES])
    if cause is UNKNOWN and ERROR.search(output):
        return _cut([ERROR.findall(output)[-1].splitlines()[0]])
    lines = [line.strip() for line in [*output.splitlines(), *log.splitlines()] if line.strip()]
    hits = [line for line in lines if cause.pattern.pattern and cause.pattern.search(line)]
    return _cut(list(dict.fromkeys(hits))[:2] or lines[-TELLING_LINES:])


def _complaints(log: str) -> list[str]:
    """Return the lines of a build log that complain, from the first real error on; its last lines if none does."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if FIRST_CAUSE.search(line)), 0)
    return [line for line in lines[first:] if COMPLAINT.search(line)] or lines[-TELLING_LINES:]


def _cut(lines: list[str]) -> list[str]:
    """Return the lines, each cut to a readable length in its middle: an address is long, its reason stands last."""
    head = LINE_LENGTH // 2 - 5
    return [
        line if len(line) <= LINE_LENGTH else f"{line[:head]} ... {line[head + 5 - LINE_LENGTH :]}" for line in lines
    ]
