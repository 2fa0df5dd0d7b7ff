# SPDX-License-Identifier: BSD-3-Clause
"""The Spack that is found, its variables, its release and its package repository."""

import pytest

from fabric_checks.software import installed
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.tool import Spack
from tests.software.spack.tape import Tape, put


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    return found


def program(path):
    put(path, "#!/bin/sh\n").chmod(0o755)
    return path


def test_spack_root_precedes_path_and_path_the_installed_one(tape, tmp_path):
    with pytest.raises(
        SpackError,
        match=r"Spack is missing: neither below SPACK_ROOT, on PATH nor at .*ci/run",
    ):
        Spack.found({"PATH": "/usr/bin:/bin"})
    own = program(installed.folder("spack") / "bin/spack")
    assert Spack.found({"PATH": "/usr/bin:/bin"}).program == own
    on_path = program(tmp_path / "bin/spack")
    assert Spack.found({"PATH": str(on_path.parent)}).program == on_path
    of_root = program(tmp_path / "root/bin/spack")
    assert (
        Spack.found(
            {"PATH": str(on_path.parent), "SPACK_ROOT": str(tmp_path / "root")}
        ).program
        == of_root
    )
    with pytest.raises(
        SpackError,
        match=r"SPACK_ROOT is '.*nowhere', which has no bin/spack; correct or unset it",
    ):
        Spack.found(
            {"SPACK_ROOT": str(tmp_path / "nowhere"), "PATH": str(on_path.parent)}
        )


def test_a_spack_that_cannot_be_run_is_named(tape):
    tape.program.chmod(0o644)
    with pytest.raises(SpackError, match="cannot be run: Permission denied"):
        Spack(tape.program, {}).run("--version")


def test_spack_gets_no_other_environment_and_the_users_python(tape):
    environment = Spack(
        tape.program, {"SPACK_PYTHON": "/mine", "SPACK_ENV": "/other"}
    ).environment
    assert environment["SPACK_PYTHON"] == "/mine" and "SPACK_ENV" not in environment
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert environment["FABRIC_SPACK_PACKAGES_URL"] == installed.PACKAGES.url
    mine = Spack(
        tape.program, {"FABRIC_SPACK_PACKAGES_URL": "file:///mine"}
    ).environment
    assert mine["FABRIC_SPACK_PACKAGES_URL"] == "file:///mine"


@pytest.mark.parametrize(
    "mirror, url",
    [("/media/disk", "file:///media/disk"), ("https://x/m", "https://x/m")],
)
def test_the_mirror_of_the_variable_precedes_all_others(tape, mirror, url):
    Spack.found(tape.variables | {"FABRIC_SPACK_MIRROR": mirror}).run(
        "install", environment=tape.folder
    )
    line = tape.calls_file.read_text()
    assert f"-c mirrors:fabric-checks:url:'{url}' install" in line
