# SPDX-License-Identifier: BSD-3-Clause
"""Whether anything that a concretization depends on has changed."""

import shutil

import pytest

from fabric_checks.spack import SpackError
from fabric_checks.spack.fingerprint import fingerprint


@pytest.fixture
def place(tmp_path):
    """Make an environment with two scopes."""
    for folder in ("env", "site", "common"):
        (tmp_path / folder).mkdir()
    (tmp_path / "env/spack.yaml").write_text(
        "spack:\n  include:\n  - {path: /unset, path_override_env_var: SITE}\n  - ../common\n  specs: [zlib]\n"
    )
    (tmp_path / "site/packages.yaml").write_text("packages: {}\n")
    (tmp_path / "common/packages.yaml").write_text("packages: {zlib: {require: '@1.3'}}\n")
    return tmp_path


def print_of(place, *extra):
    """Take the fingerprint of the environment under a folder."""
    return fingerprint(place / "env", {"SITE": str(place / "site")}, extra)


def test_it_depends_on_content_alone(place, tmp_path_factory):
    before = print_of(place)
    assert before == print_of(place) and len(before) == 64
    other = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(place, other)
    assert print_of(other) == before


def test_results_do_not_count(place):
    before = print_of(place)
    (place / "env/spack.lock").write_text("{}")
    (place / "env/.spack-env").mkdir()
    (place / "env/.spack-env/x.yaml").write_text("a: 1")
    assert print_of(place) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("env/spack.yaml", "spack: {include: [../site, ../common], specs: [zlib, gmake]}\n"),
        ("env/spack.yaml", "spack: {include: [../common, ../site], specs: [zlib]}\n"),
        ("site/packages.yaml", "packages: {all: {target: [x86_64_v3]}}\n"),
        ("site/mirrors.yaml", "mirrors: {}\n"),
        ("common/packages.yaml", "packages: {zlib: {require: '@1.2'}}\n"),
        ("common/include.yaml", "include: [../site]\n"),
    ],
)
def test_every_change_shows(place, file, text):
    before = print_of(place)
    (place / file).write_text(text)
    assert print_of(place) != before


def test_a_renamed_file_and_a_changed_order_show(place):
    seen = {print_of(place)}
    (place / "site/packages.yaml").rename(place / "site/config.yaml")
    seen.add(print_of(place))
    (place / "common/packages.yaml").rename(place / "common/zlib.yaml")
    seen.add(print_of(place))
    assert len(seen) == 3


def test_extras_show_and_are_kept_apart(place):
    assert (
        len({print_of(place), print_of(place, "1.1.0"), print_of(place, "1.1", ".0"), print_of(place, "1", "1.0")}) == 4
    )


def test_a_missing_scope_is_an_error(place):
    shutil.rmtree(place / "site")
    with pytest.raises(SpackError, match="this Spack scope does not exist"):
        print_of(place)
