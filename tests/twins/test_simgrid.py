# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid that is there, is not there, or is another; the plugin, built once."""

import pytest

from fabric_twins import simgrid as sim
from fabric_twins.errors import TwinError
from tests.twins.simulation import simgrid


def fake_smpirun(folder, text):
    (folder / "bin").mkdir()
    file = folder / "bin/smpirun"
    file.write_text(f"#!/bin/sh\necho '{text}'\n")
    file.chmod(0o755)
    return file


def test_none_on_the_path(monkeypatch, tmp_path):
    monkeypatch.delenv("SIMGRID_ROOT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        TwinError,
        match=r"^there is no smpirun on PATH; install SimGrid 3\.32 to 4\.1 .*SIMGRID_ROOT",
    ):
        sim.smpirun()


def test_none_in_the_prefix(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMGRID_ROOT", str(tmp_path))
    with pytest.raises(
        TwinError,
        match=rf"^there is no smpicc in {tmp_path}/bin \(SIMGRID_ROOT\); install",
    ):
        sim.tool("smpicc")


def test_a_compiler_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        TwinError, match="^it cannot be built: g\\+\\+ is missing; install it$"
    ):
        sim._run(["g++", "-o", "/bin/sh"], str(tmp_path), "it cannot be built", "")


@pytest.mark.parametrize("version", ["3.32", "4.1"])
def test_the_prefix_goes_before_the_path(monkeypatch, tmp_path, version):
    file = fake_smpirun(tmp_path, f"SimGrid version {version}")
    monkeypatch.setenv("SIMGRID_ROOT", str(tmp_path))
    assert sim.smpirun() == str(file)


OTHER = r"bin/smpirun: SimGrid is {}, but the plugin of the twins is written for 3\.32 to 4\.1; install"


@pytest.mark.parametrize(
    "version, message",
    [
        ("SimGrid version 3.25", OTHER.format(r"3\.25")),  # Debian 11
        ("SimGrid version 4.2", OTHER.format(r"4\.2")),
        (
            "bash: no",
            r"bin/smpirun: -version prints 'bash: no', which does not name a SimGrid; install SimGrid 3\.32",
        ),
    ],
)
def test_another_release(monkeypatch, tmp_path, version, message):
    fake_smpirun(tmp_path, version)
    monkeypatch.setenv("SIMGRID_ROOT", str(tmp_path))
    with pytest.raises(TwinError, match=message):
        sim.smpirun()


@pytest.fixture
def source(monkeypatch, tmp_path):
    """The plugin's folder with a plugin that does nothing: its own takes ten seconds to compile."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("Makefile", "platform.h"):
        (folder / name).write_bytes((sim.SOURCE / name).read_bytes())
    (folder / "twin.cpp").touch()
    monkeypatch.setattr(sim, "SOURCE", folder)
    return folder


@simgrid
def test_the_plugin_is_built_once_for_each_simgrid(monkeypatch, tmp_path, source):
    """Also for one of the same path, which a new release of the distribution has."""
    first = sim.plugin(tmp_path)
    before = first.stat().st_mtime_ns
    assert sim.plugin(tmp_path) == first and first.stat().st_mtime_ns == before
    assert [path.name for path in sorted(first.parent.iterdir())] == ["lock", "twin.so"]
    monkeypatch.setattr(sim, "release", lambda: "4.9")
    assert sim.plugin(tmp_path).parent.parent == first.parent.parent
    assert sim.plugin(tmp_path) != first


@simgrid
def test_a_plugin_that_cannot_be_compiled(tmp_path, source):
    (source / "twin.cpp").write_text("#error broken\n")
    with pytest.raises(
        TwinError,
        match=r"^the plugin of the twins cannot be built: make says '.*broken.*g\+\+",
    ):
        sim.plugin(tmp_path / "built")
    assert not list((tmp_path / "built").rglob("twin.so"))
