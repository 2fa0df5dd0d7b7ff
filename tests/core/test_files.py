# SPDX-License-Identifier: BSD-3-Clause
"""Only regular files are opened; a file that cannot be replaced is left as it was."""

import os

import pytest

from fabric_checks.core import files


def test_a_file_is_read_as_bytes_or_text(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"a\r\nb\xff\n")
    assert files.read_bytes(path, tmp_path) == b"a\r\nb\xff\n"
    assert files.read_text(path) == "a\nb\ufffd\n"


@pytest.mark.parametrize(
    "name, error",
    [
        ("pipe", "not a regular file"), ("zero", "not a regular file"), (".", "Is a directory"),
        ("none", "No such file"),
    ],
)  # fmt: skip
def test_only_regular_files_are_opened(tmp_path, name, error):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match=error):
        files.read_bytes(tmp_path / name)


def test_a_link_out_of_a_folder_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_text("a")
    (tmp_path / "b").write_text("b")
    (tmp_path / "in/within").symlink_to("a")
    (tmp_path / "in/out").symlink_to(tmp_path / "b")
    (tmp_path / "also").symlink_to(tmp_path / "in")
    assert files.read_text(tmp_path / "also/within", tmp_path / "in") == "a"
    assert files.read_text(tmp_path / "in/out") == "b"
    with pytest.raises(OSError, match="a symbolic link out of"):
        files.read_text(tmp_path / "in/out", tmp_path / "in")
    with pytest.raises(OSError, match="a symbolic link out of"):
        files.read_text(tmp_path / "in/../b", tmp_path / "in")


def test_a_larger_file_than_allowed_is_refused(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        files.read_bytes(path, largest_B=2**20)
    path.write_bytes(b"x" * 2**20)
    assert len(files.read_bytes(path, largest_B=2**20)) == 2**20


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "new/a.txt"
    files.write_text(path, "one")
    path.chmod(0o640)
    files.write_text(path, "two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("x")],
)
def test_a_failed_writer_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(type(error)) as caught, files.replacing(path) as new:
        new.write_text("half")
        raise error
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == [
        "a.txt"
    ]
    if isinstance(error, OSError):
        assert caught.value.filename == str(
            path
        ) and "No space left on device; it is unchanged" in str(caught.value)


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link").symlink_to("there/a.txt")
    (tmp_path / "there").mkdir()
    files.write_text(tmp_path / "link", "one")
    assert (tmp_path / "link").is_symlink() and (
        tmp_path / "there/a.txt"
    ).read_text() == "one"


@pytest.mark.parametrize("path", ["folder", "file/a.txt"])
def test_a_path_that_cannot_be_written_is_named(tmp_path, path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        files.write_text(tmp_path / path, "x")
    assert caught.value.filename == str(tmp_path / path)


def test_a_link_in_the_way_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("dear")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "f00")
    (tmp_path / ".a.f00.txt").symlink_to(victim)
    with pytest.raises(OSError, match="File exists"):
        files.write_text(tmp_path / "a.txt", "new")
    assert victim.read_text() == "dear" and not (tmp_path / "a.txt").exists()
