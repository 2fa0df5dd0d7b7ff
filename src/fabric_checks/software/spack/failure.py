# SPDX-License-Identifier: BSD-3-Clause
"""Turn the output of a Spack that failed into a message with cause, evidence and remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.errors import FabricError, cut

#: The most lines of a build log, or of Spack's own error, in a message.
MOST_LINES = 4

#: The longest line of a message; compiler command lines are longer.
LINE_LENGTH = 200

#: An error of Spack with its continuation lines. `spack mirror` only warns of each source that it cannot
#: fetch.
ERROR = re.compile(r"^==> (?:Error|Warning): .*(?:\n(?!==> |\[\+\]).*)*", re.MULTILINE)
INSTALLING = re.compile(r"^==> Installing (\S+?)-\w{32}\b", re.MULTILINE)
LOG = re.compile(r"^\s+(/\S+/spack-build-(?:out|\d\d-[\w-]+-out)\.txt)$", re.MULTILINE)
FIRST_ERROR = re.compile(
    r"(?<![\w-])(?:fatal |internal compiler )?error: ", re.IGNORECASE
)


class SpackError(FabricError):
    """Report a fault of Spack, its configuration or its result, with cause and remedy."""


@dataclass(frozen=True)
class Cause:
    """Describe one way in which Spack fails.

    :param name: the name in messages; :param remedy: the action for the user.
    :param pattern: matches it in the output, or, if ``in_log``, in the build log too.
    """

    name: str
    pattern: str
    remedy: str
    in_log: bool = False

    def is_shown_by(self, text: str) -> re.Match[str] | None:
        """Return where a text shows this cause."""
        return re.search(self.pattern, text, re.IGNORECASE | re.MULTILINE)


NO_REPOSITORY = Cause(
    "no package repository",
    r"Error constructing repository|No repo\.yaml found|UnknownRepo|Unable to clone"
    r"|no repositor(?:y|ies) configured",
    "make sure that FABRIC_SPACK_PACKAGES_URL can be cloned, and delete the folder named, which holds half a "
    "clone; or name a clone of spack-packages, at the pinned release, in repos.yaml of the site's scope",
)
INTERRUPTED = Cause(
    "it was interrupted",
    r"Keyboard interrupt|KeyboardInterrupt|Terminated$|received signal|Killed$",
    "run it again; what is already built is kept",
)
BUILD_FAILED = Cause(
    "the build failed",
    r"ProcessError|InstallError|See build log for details|Command exited with status",
    "see the log; the compiler or MPI of this environment may not suit this release",
)
NOT_THERE = Cause(
    "Spack is missing",
    r"not found",
    "put `spack` on PATH, set SPACK_ROOT, or let `ci/run` install one",
)
UNKNOWN = Cause(
    "it failed",
    r"^==> Error: ",
    "run the same command by hand in the stage folder, with `spack -d`",
)

#: The most telling causes first: a full disk breaks builds in many ways.
CAUSES = (
    Cause(
        "the disk is full",
        r"No space left on device|Disk quota exceeded|\[Errno 28\]|\[Errno 122\]",
        "free space, or move install_tree and build_stage (config.yaml of the site's scope)",
        in_log=True,
    ),
    Cause(
        "it cannot write",
        r"\[Errno (?:1|13|30)\]|read-only file|PermissionError|Lock(?:RO|Permission)\w*Error|No accessible"
        r" stage paths",
        "check the owner of the folder named and whether its file system is mounted for writing, or move"
        " install_tree, build_stage and the caches (config.yaml of the site's scope)",
    ),
    Cause(
        "git is missing",
        r"spack requires 'git'|git: (?:command )?not found|No such file or directory: '(?:\S*/)?git'",
        "install git, or load its module: Spack fetches its package repository with it",
    ),
    Cause(
        "out of memory",
        r"Killed signal terminated program|Cannot allocate memory|virtual memory exhausted|std::bad_alloc",
        "build with fewer jobs (`config: build_jobs:` in the site's scope), or on a host with more memory",
        in_log=True,
    ),
    Cause(
        "checksum mismatch",
        r"ChecksumError|checksum failed for",
        "the archive differs from the release; delete it in the mirror or source cache named and fetch it"
        " again",
    ),
    Cause(
        "no source can be fetched",
        r"All fetchers failed|FetchError|Will not fetch",
        "connect the machine to the network, or provide a source mirror that has it and name it in"
        " mirrors.yaml of the site's scope",
    ),
    Cause(
        "a scope is missing",
        r"Required path \(.*\) does not exist",
        "create that folder, or correct FABRIC_SPACK_ENVIRON, FABRIC_SPACK_SITE and FABRIC_SPACK_COMMON",
    ),
    Cause(
        "a scope is wrong",
        r"error parsing YAML|ConfigFormatError|ConfigFileError|is not valid under"
        r"|Additional properties are not allowed",
        "correct the file and line named",
    ),
    # Without a repository Spack knows no compilers either, so this comes before those.
    NO_REPOSITORY,
    Cause(
        "a compiler is missing",
        r"no compiler configured|cannot find working compilers"
        r"|Only external, or concrete, compilers are allowed|compiler\S* .*does not exist",
        "install it or load its module, or name it under packages: gcc: externals: in the site's scope",
    ),
    Cause(
        "Spack cannot load clingo",
        r"cannot bootstrap the \"clingo\"|clingo.*(?:bootstrap|ImportError|No module)|No module named"
        r" 'clingo'",
        "set SPACK_PYTHON to a Python that has clingo (`pip install clingo`)",
    ),
    Cause(
        "patchelf is missing",
        r"cannot bootstrap any of the patchelf executables",
        "install it: Spack needs it to relocate packages from a build cache; or use a mirror with sources"
        " only",
    ),
    Cause(
        "the linker lacks the library of the GPU's driver",
        r"cannot find -l(?:cuda|nvidia-ml)\b",
        "build on a node with the driver, or link the toolkit's stub: `packages: all: require: "
        "ldflags=-LCUDA/lib64/stubs` in the site's scope",
        in_log=True,
    ),
    Cause(
        "Spack is too old",
        r"path_override_env_var.*(?:unexpected|not allowed)|newer version of Spack|unsupported.*lockfile",
        "1.1 or later is needed; name another with SPACK_ROOT",
    ),
    Cause(
        "the package repository is of another release",
        r"cannot match any known version|since '[-\w]+' does not exist|Package '[-\w]+' not"
        r" found|UnknownPackageError"
        r"|requires Spack|package api",
        "check out the pinned release of spack-packages, or require a version that it has",
    ),
    Cause(
        "it cannot be concretized",
        r"failed to concretize|cannot concretize|UnsatisfiableSpecError|No solution|conflicts? with",
        "check what the scopes require of the packages named, and whether the externals offer it",
    ),
    INTERRUPTED,
    BUILD_FAILED,
)


def explain(output: str, exit_code: int) -> str:
    """Return a message of a few lines: the cause, the lines of the output or build log that show it, the
    remedy.

    :param output: the output of Spack, both streams together.
    :param exit_code: its exit status; negative, or over 128, for a signal.
    """
    named = LOG.findall(output)
    log = _read(Path(named[-1])) if named else ""
    cause = _find(output, log, exit_code)
    shown = cause.is_shown_by(output)
    # The package that was being installed; there is none while concretizing.
    package = (
        INSTALLING.findall(output[: shown.start()] if shown else output) or [""]
    )[-1]
    head = f"Spack: {cause.name}{f' ({package})' if package else ''}, exit status {exit_code}"
    evidence = _evidence(cause, output, log) + [
        f"build log: {path}" for path in named[-1:]
    ]
    return "\n".join(
        [
            head,
            *(f"  {cut(line, LINE_LENGTH)}" for line in evidence),
            f"To do: {cause.remedy}",
        ]
    )


def distinct_lines(text: str) -> list[str]:
    """Return the lines of a text without their indentation, each once, in order; no blank ones."""
    return list(
        dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    )


def _read(log: Path) -> str:
    """Return the text of a build log, or nothing if it is gone: stages are cleaned."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _find(output: str, log: str, exit_code: int) -> Cause:
    """Return the first cause that the output shows, or the build log for those that break a compiler."""
    if exit_code == 127:
        return NOT_THERE
    for cause in CAUSES:
        if cause.is_shown_by(output) or (cause.in_log and cause.is_shown_by(log)):
            return cause
        if cause is INTERRUPTED and (exit_code < 0 or exit_code > 128):
            return cause
    return UNKNOWN


def _evidence(cause: Cause, output: str, log: str) -> list[str]:
    """Return the most telling lines: the first error of the build log, else Spack's own error or the last
    lines."""
    if cause is BUILD_FAILED and log:
        lines = distinct_lines(log)
        first = next(
            (i for i, line in enumerate(lines) if FIRST_ERROR.search(line)), -MOST_LINES
        )
        return lines[first:][:MOST_LINES]
    for error in ERROR.findall(output):
        if cause.is_shown_by(error):
            return distinct_lines(error.partition(": ")[2])[:MOST_LINES]
    lines = [*distinct_lines(output), *distinct_lines(log)]
    return [line for line in lines if cause.is_shown_by(line)][:2] or lines[
        -MOST_LINES:
    ]
