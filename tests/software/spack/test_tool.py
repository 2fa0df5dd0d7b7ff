# SPDX-License-Identifier: BSD-3-Clause
"""Which Spack it is, what it is run with, and what tells one from another."""

import os
import signal
import subprocess

import pytest

from fabric_checks.software import installed
from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.tool import Spack, find, first_line, git
from fabric_checks.software.spack.version import PACKAGES_URL, PINNED
from tests.software.spack.tape import Tape


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    return found


def program(path):
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_spack_root_goes_before_path_and_path_before_the_one_that_was_brought(tape, tmp_path):
    brought = program(installed.folder("spack") / "bin/spack")
    assert find({"PATH": "/usr/bin:/bin"}) == brought
    on_path = program(tmp_path / "bin/spack")
    assert find({"PATH": str(on_path.parent)}) == on_path
    of_root = program(tmp_path / "root/bin/spack")
    assert find({"PATH": str(on_path.parent), "SPACK_ROOT": str(tmp_path / "root")}) == of_root


def test_a_wrong_spack_root_is_named(tmp_path):
    with pytest.raises(SpackError, match=r"SPACK_ROOT is '.*nowhere', which has no bin/spack; correct or unset it"):
        find({"SPACK_ROOT": str(tmp_path / "nowhere"), "PATH": "/usr/bin"})


def test_a_spack_that_cannot_be_run(tape):
    (tape.root / "bin/spack").chmod(0o644)
    with pytest.raises(SpackError, match="cannot be run: Permission denied"):
        Spack(tape.root / "bin/spack", {}).release()


def test_the_user_keeps_their_python_and_no_other_environment_is_active(tape):
    environment = Spack(tape.root / "bin/spack", {"SPACK_PYTHON": "/mine", "SPACK_ENV": "/other"}).environment
    assert environment["SPACK_PYTHON"] == "/mine" and "SPACK_ENV" not in environment
    assert environment["FABRIC_SPACK_PACKAGES_URL"] == PACKAGES_URL
    mine = Spack(tape.root / "bin/spack", {"FABRIC_SPACK_PACKAGES_URL": "file:///mine"}).environment
    assert mine["FABRIC_SPACK_PACKAGES_URL"] == "file:///mine"


@pytest.mark.parametrize(("mirror", "url"), [("/media/disk", "file:///media/disk"), ("https://x/m", "https://x/m")])
def test_a_mirror_goes_before_all_others(tape, mirror, url):
    Spack.found(tape.variables | {"FABRIC_SPACK_MIRROR": mirror}).run("install", environment=tape.folder)
    line = tape.calls_file.read_text()
    assert f"-c mirrors:fabric-checks:url:'{url}' -c mirrors:fabric-checks:signed:false install" in line


def test_the_same_spack_is_the_same_and_another_is_not(tape):
    spack = Spack.found(tape.variables)
    git = ["git", "-C", str(tape.root), "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "1.1.0"]):
        subprocess.run([*git, *command], check=True)
    before = spack.identity()
    assert before == spack.identity() and tape.calls == []
    (tape.root / "lib/spack/spack/__init__.py").write_text('__version__ = "1.1.0"\nedited = True\n')
    edited = spack.identity()
    subprocess.run([*git, "commit", "--quiet", "-a", "-m", "edited"], check=True)
    assert len({tuple(each) for each in (before, edited, spack.identity())}) == 3


def test_spack_is_told_to_print_at_once(tape):
    """Else its own lines come behind the errors that they precede, and a log shows nothing while it builds."""
    assert Spack.found(tape.variables).environment["PYTHONUNBUFFERED"] == "1"


def test_whatever_ends_the_reader_ends_spack(tape):
    tape.write("install.sh", f"echo $PPID $$ > {tape.folder}/pids\necho begun\nexec sleep 600\n")

    def interrupted(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Spack.found(tape.variables).run("install", watch=interrupted)
    stand_in, child = map(int, (tape.folder / "pids").read_text().split())
    os.kill(child, signal.SIGKILL)  # as a compiler, it ends with the pipe or the process group
    with pytest.raises(ProcessLookupError):
        os.kill(stand_in, 0)


def test_the_machine_is_its_compilers_and_processor(tape):
    lines = Spack.found(tape.variables).machine()
    assert any("/gcc " in line for line in lines)
    assert not any("/gcc " in line for line in Spack.found({**tape.variables, "PATH": f"{tape.root}/bin"}).machine())


def test_no_git_is_no_word(tmp_path):
    assert git(tmp_path, "describe", "--tags") == ""
    assert first_line(["/nonexistent/program"]) == ""


def test_what_is_brought_is_what_the_library_is_tried_with():
    assert installed.SPACK.tag == f"v{PINNED}"
