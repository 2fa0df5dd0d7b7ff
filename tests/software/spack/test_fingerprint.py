# SPDX-License-Identifier: BSD-3-Clause
"""Whether anything that a build depends on has changed."""

import pytest

from fabric_checks.software.spack.fingerprint import contents, fingerprint


def test_parts_are_kept_apart():
    seen = [fingerprint(parts) for parts in ([b"1.1.0"], [b"1.1", b".0"], [b"1", b"1.0"], [b"1.1.0", b""], [])]
    assert len(set(seen)) == len(seen) and len(seen[0]) == 64
    assert fingerprint([b"1.1.0"]) == seen[0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "packages/zlib").mkdir(parents=True)
    (tmp_path / "packages/zlib/package.py").write_text("class Zlib: ...")
    (tmp_path / "repo.yaml").write_text("repo: {namespace: mine}")
    return tmp_path


@pytest.mark.parametrize("name", ["packages/zlib/package.py", "packages/zlib/fix.patch", "repo.yaml"])
def test_every_file_counts(folder, name):
    before = contents(folder)
    (folder / name).write_text("changed")
    assert contents(folder) != before


def test_a_name_counts(folder):
    before = contents(folder)
    (folder / "packages/zlib").rename(folder / "packages/zlib-ng")
    assert contents(folder) != before


def test_what_python_and_git_keep_for_themselves_does_not(folder):
    before = contents(folder)
    for name in ("packages/zlib/__pycache__/package.pyc", ".git/index"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("x")
    assert contents(folder) == before and len(before) == 4
