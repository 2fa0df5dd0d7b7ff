# SPDX-License-Identifier: BSD-3-Clause
"""The message of a Spack that failed: from real transcripts to a few lines."""

import pytest

from fabric_checks.core.paths import ROOT
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
    "name, head, evidence",
    [
        ("concretize.unsatisfiable", "Spack ended with exit status 1",
         "1. Cannot build mpich, since it is configured `buildable:false`"),
        ("concretize.no-version", "Spack ended", "Version requirement 99.9 on osu"),
        ("concretize.unknown-package", "Spack ended", "'osu-micro-benchmark' does not"),
        ("concretize.no-compiler", "Spack ended", "Spack cannot find working compilers in PATH"),
        ("concretize.no-fortran", "Spack ended", "compilers are allowed for the fortran language"),
        ("concretize.no-repository", "Spack ended", "No repo.yaml found in '/home/user/nowhere'"),
        ("concretize.no-scope", "Spack ended", "/nowhere) does not exist"),
        ("concretize.bad-yaml", "Spack ended", "packages.yaml\", line 2"),
        ("concretize.no-clingo", "Spack ended", "no bootstrapping sources are enabled"),
        ("install.checksum", "Spack (intel-mpi-benchmarks-2021.7) ended", "but got 104a88445669"),
        ("install.no-source", "Spack (compiler-wrapper-1.1.0) ended", "All fetchers failed for"),
        ("install.disk-full-stage", "Spack (intel-mpi-benchmarks-2021.7)", "Cannot write: No space left"),
        ("install.disk-full-tree", "Spack (gcc-runtime-12.2.0) ended", "[Errno 28] No space left"),
        ("install.read-only", "Spack ended", "write lock on read-only file: /home/user/fabric/spack/opt/"),
        ("install.interrupted", "Spack (intel-mpi-benchmarks-2021.7) ended", "writer daemon"),
        ("mirror.no-source", "Spack ended", "osu-micro-benchmarks@7.5.2"),
    ],
)  # fmt: skip
def test_a_transcript_gives_package_evidence_and_remedy(played, name, head, evidence):
    lines = played(name).splitlines()
    assert lines[0].startswith(head)
    assert evidence in "\n".join(lines[1:-1])
    assert (
        lines[-1] == "To do: docs/software.md has the causes under *When Spack fails*"
    )
    assert len(lines) <= 9 and all(len(line) <= LINE_LENGTH + 2 for line in lines[1:-1])
    assert "### When Spack fails" in (ROOT / "docs/software.md").read_text()


def test_a_build_failure_quotes_its_log(played):
    log = (TRANSCRIPTS / "install.build-error.log").read_text()
    assert played("install.build-error", log=log).splitlines()[:2] == [
        "Spack (intel-mpi-benchmarks-2021.7) ended with exit status 1",
        '  benchmark_suites_collection.cpp:33:2: error: #error "broken on purpose"',
    ]


@pytest.mark.parametrize(
    "log",
    [
        "cc1plus: fatal error: /tmp/x.s: No space left on device\n",
        "ld: cannot find -lnvidia-ml: No such file\n",
        "c++: fatal error: Killed signal terminated program cc1plus\n",
    ],
)
def test_what_breaks_a_compiler_shows_in_the_log_alone(played, log):
    assert f"status 1\n  {log}" in played("install.build-error", log=f"g++ -c x\n{log}")


@pytest.mark.parametrize("log", [None, "make: nothing to be done\n"])
def test_a_build_failure_without_an_error_in_its_log_quotes_spack(played, log):
    message = played("install.build-error", log=log)
    assert "ProcessError: Command exited with status 2:\n" in message
    assert message.splitlines()[-2].startswith("  build log: /")


@pytest.mark.parametrize("exit_code", [-9, 143])
def test_a_killed_spack_has_printed_nothing(played, exit_code):
    """The transcript just ends, in the middle of the build."""
    message = played("install.killed", exit_code)
    assert message.startswith(
        f"Spack (intel-mpi-benchmarks-2021.7) ended with exit status {exit_code}\n"
    )
    assert "Executing phase: 'build'" in message


def test_an_unknown_failure_shows_its_error_or_its_end():
    message = explain("a\nb\nc\nd\ne\n==> Error: the moon is full\n", 3)
    assert message.startswith(
        "Spack ended with exit status 3\n  d\n  e\n  ==> Error: the moon is full\nTo do: "
    )
    assert "\n  b\n  c\n  d\n  e\n" in explain("a\nb\nc\nd\ne\n", 3)


def test_a_truncated_transcript_gives_a_message():
    text = (TRANSCRIPTS / "install.build-error.txt").read_text()
    for size in range(0, len(text), 173):
        assert explain(text[:size], 1).startswith("Spack")
