# SPDX-License-Identifier: BSD-3-Clause
"""Which Spack it is, what it is run with, and what tells one from another."""

import runpy

import pytest

from fabric_checks.spack import SpackError
from fabric_checks.spack.tool import Spack, find, first_line, git
from fabric_checks.spack.version import PACKAGES_URL, PINNED
from tests.conftest import TESTS
from tests.spack.tape import Tape


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
    brought = program(tmp_path / "home/spack/spack/bin/spack")
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
    before = spack.identity()
    assert before == spack.identity() and tape.calls == []
    (tape.root / "lib/spack/spack/__init__.py").write_text('__version__ = "1.2.0"\n')
    assert spack.identity() != before


def test_a_spack_without_its_sources_is_asked_for_its_version(tape):
    (tape.root / "lib/spack/spack/__init__.py").unlink()
    assert Spack.found(tape.variables).identity()[2].startswith("1.1.0")
    assert tape.calls == ["--version"]


def test_the_machine_is_its_compilers_and_processor(tape):
    lines = Spack.found(tape.variables).machine()
    assert any("/gcc " in line for line in lines)
    assert not any("/gcc " in line for line in Spack.found({**tape.variables, "PATH": f"{tape.root}/bin"}).machine())


def test_no_git_is_no_word(tmp_path):
    assert git(tmp_path, "describe", "--tags") == ""
    assert first_line(["/nonexistent/program"]) == ""


def test_what_is_brought_is_what_the_library_is_tried_with():
    setup = runpy.run_path(str(TESTS.parent / "ci/setup.py"))
    assert setup["SPACK_TAG"] == f"v{PINNED}"
