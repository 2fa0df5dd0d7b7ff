# SPDX-License-Identifier: BSD-3-Clause
"""The stand-in for Spack plays back what it is told to, so that tests of others can trust it."""

import subprocess

import pytest

from tests.conftest import TESTS

SPACK = TESTS / "software/spack/spack"


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Return a function that calls the stand-in in an empty environment, and the folder it plays from."""
    monkeypatch.setenv("SPACK_PLAYBACK", str(tmp_path / "tape"))
    monkeypatch.setenv("SPACK_CALLS", str(tmp_path / "calls"))
    (tmp_path / "tape").mkdir()
    (tmp_path / "env").mkdir()

    def call(*arguments):
        return subprocess.run([str(SPACK), *arguments], capture_output=True, text=True)

    return call, tmp_path


def test_it_answers_its_version(play):
    call, folder = play
    assert call("--version").stdout == "1.1.0 (2e907202bcc8209a6a62243aab50c179b524cc3b)\n"
    (folder / "tape/--version.txt").write_text("0.23.1\n")
    assert call("--version").stdout == "0.23.1\n"


def test_it_plays_output_status_and_lock_and_writes_down_its_calls(play):
    call, folder = play
    (folder / "tape/concretize.txt").write_text("==> Concretized 1 spec:\n")
    (folder / "tape/concretize.lock").write_text("{}\n")
    (folder / "tape/install.txt").write_text("==> Error: no\n")
    (folder / "tape/install.status").write_text("1\n")
    (folder / "tape/install.sh").write_text('touch "$1/was-here"\n')
    done = call("-e", str(folder / "env"), "concretize")
    assert (done.returncode, done.stderr) == (0, "==> Concretized 1 spec:\n")
    assert (folder / "env/spack.lock").read_text() == "{}\n"
    done = call("--color=never", "-e", str(folder / "env"), "install", "-j", "2")
    assert (done.returncode, done.stderr) == (1, "==> Error: no\n")
    assert (folder / "env/was-here").exists()
    assert [line.split()[-1] for line in (folder / "calls").read_text().splitlines()] == ["concretize", "2"]
