# SPDX-License-Identifier: BSD-3-Clause
"""The message of a Spack that failed: from real transcripts to a few lines."""

import pytest

from fabric_checks.software.spack.failure import LINE_LENGTH, explain
from tests.conftest import GOLDEN

TRANSCRIPTS = GOLDEN / "spack"


@pytest.fixture
def played(tmp_path):
    """Return a function that explains a real transcript, with the text of the build log that it names."""

    def explained(name, exit_code=1, log=None):
        lines = (TRANSCRIPTS / f"{name}.txt").read_text().splitlines()
        if log is not None:
            (tmp_path / "spack-build-out.txt").write_text(log)
            lines = [
                f"  {tmp_path}/spack-build-out.txt"
                if "/spack-build-out.txt" in line
                else line
                for line in lines
            ]
        return explain("\n".join(lines) + "\n", exit_code)

    return explained


@pytest.mark.parametrize(
    "name, cause, evidence, remedy",
    [
        ("concretize.unsatisfiable", "it cannot be concretized, exit status 1",
         "1. Cannot build mpich, since it is configured `buildable:false`", "check what the scopes require"),
        ("concretize.no-version", "the package repository is of another release",
         "Version requirement 99.9 on osu", "check out the pinned release"),
        ("concretize.unknown-package", "the package repository is of another release",
         "'osu-micro-benchmark' does not", "check out the pinned"),
        ("concretize.no-compiler", "a compiler is missing",
         "Spack cannot find working compilers in PATH", "install it or load its module"),
        ("concretize.no-fortran", "a compiler is missing",
         "compilers are allowed for the fortran language", "install it or load its module"),
        ("concretize.no-repository", "no package repository",
         "No repo.yaml found in '/home/user/nowhere'", "name a clone of spack-packages"),
        ("concretize.no-scope", "a scope is missing", "/nowhere) does not exist", "create that folder"),
        ("concretize.bad-yaml", "a scope is wrong", "packages.yaml\", line 2",
         "correct the file and line named"),
        ("concretize.no-clingo", "Spack cannot load clingo",
         "no bootstrapping sources are enabled", "set SPACK_PYTHON to"),
        ("install.checksum", "checksum mismatch (intel-mpi-benchmarks-2021.7)",
         "but got 104a88445669", "delete it in the mirror"),
        ("install.no-source", "no source can be fetched (compiler-wrapper-1.1.0)",
         "All fetchers failed for", "provide a source mirror"),
        ("install.disk-full-stage", "the disk is full (intel-mpi-benchmarks-2021.7)",
         "Cannot write: No space left", "free space"),
        ("install.disk-full-tree", "the disk is full (gcc-runtime-12.2.0)", "[Errno 28] No space left",
         "free space"),
        ("install.read-only", "it cannot write, exit",
         "write lock on read-only file: /home/user/fabric/spack/opt/", "move install_tree"),
        ("install.interrupted", "it was interrupted (intel-mpi-benchmarks-2021.7)", "writer daemon",
         "run it again"),
    ],
)  # fmt: skip
def test_a_transcript_gives_cause_evidence_and_remedy(
    played, name, cause, evidence, remedy
):
    lines = played(name).splitlines()
    assert lines[0].startswith(f"Spack: {cause}")
    assert evidence in "\n".join(lines[1:-1])
    assert lines[-1].startswith("To do: ") and remedy in lines[-1]
    assert len(lines) <= 7 and all(len(line) <= LINE_LENGTH + 2 for line in lines[1:-1])


def test_a_missing_source_of_a_mirror_is_named_with_its_reason():
    """As `spack mirror create` prints it: as a warning."""
    message = explain((TRANSCRIPTS / "mirror.no-source.txt").read_text(), 1)
    lines = message.splitlines()
    assert lines[0] == "Spack: no source can be fetched, exit status 1"
    assert lines[4].startswith("  https://mirror.spack.io/") and lines[4].endswith(
        "Name or service not known"
    )


@pytest.mark.parametrize(
    "text, name",
    [
        (
            "==> Error: spack requires 'git'. Make sure it is in your path.",
            "git is missing",
        ),
        (
            '==> Error: cannot bootstrap any of the patchelf executables from spec "patchelf@0.13.1"',
            "patchelf is missing",
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/opt/spack/.spack-db'",
            "it cannot write",
        ),
    ],
)
def test_a_single_line_shows_its_cause(text, name):
    message = explain(text + "\n", 1)
    assert message.startswith(f"Spack: {name}, exit status 1\n")
    assert "To do: " in message


def test_a_build_failure_quotes_its_log(played):
    log = (TRANSCRIPTS / "install.build-error.log").read_text()
    assert played("install.build-error", log=log).splitlines()[:2] == [
        "Spack: the build failed (intel-mpi-benchmarks-2021.7), exit status 1",
        '  benchmark_suites_collection.cpp:33:2: error: #error "broken on purpose"',
    ]


def test_a_build_failure_without_its_log_quotes_spack(played):
    message = played("install.build-error")
    assert "\n  ProcessError: Command exited with status 2:\n" in message
    assert message.splitlines()[-2].startswith(
        "  build log: /home/user/"
    ) and message.endswith("suit this release")


@pytest.mark.parametrize(
    "log, cause",
    [
        (
            "cc1plus: fatal error: /tmp/x.s: No space left on device\n",
            "the disk is full",
        ),
        (
            "ld: cannot find -lnvidia-ml: No such file\n",
            "the linker lacks the library of the GPU's driver",
        ),
        (
            "c++: fatal error: Killed signal terminated program cc1plus\n",
            "out of memory",
        ),
    ],
)
def test_a_full_disk_and_a_killed_compiler_show_in_the_log_alone(played, log, cause):
    message = played("install.build-error", log=log)
    assert message.startswith(f"Spack: {cause} (intel-mpi") and log in message


@pytest.mark.parametrize("exit_code", [-9, 143])
def test_a_killed_spack_was_interrupted(played, exit_code):
    """A killed Spack prints nothing: the transcript just ends, in the middle of the build."""
    message = played("install.killed", exit_code)
    assert message.startswith(
        f"Spack: it was interrupted (intel-mpi-benchmarks-2021.7), exit status {exit_code}\n"
    )
    assert "Executing phase: 'build'" in message and message.endswith(
        "To do: run it again; what is already built is kept"
    )


def test_status_127_is_a_missing_spack():
    assert "Spack is missing" in explain("", 127) and "set SPACK_ROOT" in explain(
        "", 127
    )
    assert "Spack is missing" in explain("/bin/sh: 1: spack: not found\n", 127)


def test_an_unknown_failure_shows_its_error_or_its_end():
    message = explain("a\nb\nc\nd\ne\n==> Error: the moon is full\n", 3)
    assert message.startswith(
        "Spack: it failed, exit status 3\n  the moon is full\nTo do: run the same command by hand"
    )
    assert "\n  b\n  c\n  d\n  e\n" in explain("a\nb\nc\nd\ne\n", 3)


def test_a_truncated_transcript_gives_a_message():
    text = (TRANSCRIPTS / "install.build-error.txt").read_text()
    for size in range(0, len(text), 173):
        assert explain(text[:size], 1).startswith("Spack: ")
