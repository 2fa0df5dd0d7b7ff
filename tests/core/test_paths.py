# SPDX-License-Identifier: BSD-3-Clause
"""Names and paths that are not safe in a job script are refused."""

import pytest

from fabric_checks.core import paths
from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import sound_name, sound_path
from fabric_checks.records import sessions


@pytest.mark.parametrize(
    "name", ["20260101T000000Z-8c1d", "a", "night.2", "x_y-z", "1" * 100]
)
def test_a_sound_name_is_returned(name):
    assert sound_name("it", name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "a/b",
        "`touch x`",
        "a b",
        "a\n",
        "-n",
        "ü",
        "1" * 101,
        "a;b",
        "%j",
    ],
)
def test_an_unsafe_name_is_refused(name):
    with pytest.raises(
        FabricError,
        match=r"^FABRIC_SESSION is '.*', which is not a name: use up to 100 letters",
    ):
        sound_name("FABRIC_SESSION", name)


@pytest.mark.parametrize("path", ["/a", "/srv/job@2/a-b_c.d+e", "/home/jürgen/x"])
def test_a_sound_path_is_returned(path):
    assert str(sound_path("it", path)) == path


@pytest.mark.parametrize(
    "path, sign",
    [
        ("/a b", "' '"), ("/a\nb", r"'\\n'"), ("/$(touch x)", r"'\$'"), ("/`x`", "'`'"), ("/a;b", "';'"),
        ("/a'b", '"\'"'), ('/a"b', "'\"'"), ("/a:b", "':'"), ("/a,b", "','"), ("/a%j", "'%'"),
        ("/a*", r"'\*'"),
        ("/a\x1b[1m", r"'\\x1b'"), ("/a\udcffb", r"'\\udcff'"), ("/a=b", "'='"), ("/~", "'~'"),
        ("/a\\b", r"'\\\\'"),
    ],
)  # fmt: skip
def test_an_unsafe_character_of_a_path_is_named(path, sign):
    with pytest.raises(
        FabricError,
        match=rf"^FABRIC_HOME is .*, but paths in job scripts cannot contain {sign}: move",
    ):
        sound_path("FABRIC_HOME", path)


def test_a_path_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sound_path("it", "x/../y") == tmp_path / "y"


@pytest.mark.parametrize(
    "name, value, read",
    [
        ("FABRIC_HOME", "/a;b", paths.home),
        ("FABRIC_RESULTS", "/$(x)", paths.results),
        ("FABRIC_SESSION", "../../x", sessions.session_id.__wrapped__),
    ],
)
def test_variables_with_unsafe_values_are_refused(monkeypatch, name, value, read):
    monkeypatch.setenv(name, value)
    with pytest.raises(FabricError, match=f"^{name} is "):
        read()
