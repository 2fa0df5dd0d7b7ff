# SPDX-License-Identifier: BSD-3-Clause
"""YAML that is broken, or asks for more than it says."""

import os
import re

import pytest

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import FabricError
from fabric_checks.references import reference_file
from fabric_twins.model import sourced_yaml

#: Bad files, and what is said of each.
BAD = {
    "an alias": ("a: &a [1]\nb: *a\n", ":2: the alias *a: write out"),
    "an alias of what it is in": ("a: &a [1, *a]\n", ":1: the alias *a: write out"),
    "brackets": ("a: " + "[" * 5000 + "]" * 5000, ":1: nested deeper than 50 levels"),
    "braces": ("a: " + "{b: " * 5000 + "}" * 5000, ":1: nested deeper than 50 levels"),
    "brackets never closed": ("a:\n " + "[" * 5000, ":2: nested deeper than 50 levels"),
    "indentation": (
        "".join(f"{' ' * n}a:\n" for n in range(300)),
        ":51: nested deeper than 50 levels",
    ),
    "dashes": ("- " * 5000 + "a", ":1: nested deeper than 50 levels"),
    "a date that is none": ("a: 1\nb: 2026-02-30\n", ":2: not valid YAML: day "),
    "a month that is none": (
        "a: 2026-99-01\n",
        ":1: not valid YAML: month must be in 1..12",
    ),
    "a number that is none": ("a: 1\nb: !!int x\n", ":2: not valid YAML: "),
    "a key, a list": ("a: 1\n? [1, 2]\n: 2\n", ":2: not valid YAML: "),
    "a key, a mapping": ("{{a: b}: c}\n", ":1: not valid YAML: "),
    "an unknown tag": (
        "a: !!python/object:os.system x\n",
        ":1: not valid YAML: could not determine a constructor",
    ),
    "two documents": ("a: 1\n---\nb: 2\n", "not valid YAML: "),
    "a NUL": ("a: \0\n", "not valid YAML: "),
    "a control character": ("a: \x1b[31m\n", "not valid YAML: "),
    "another alphabet": (b"a: caf\xe9\n", "cannot be read: not UTF-8 text (byte 7)"),
    "a tab": ("a:\n\tb: 1\n", ":2: not valid YAML: "),
    "nothing at all": (None, "cannot be read: No such file or directory"),
}


@pytest.fixture(params=BAD)
def bad(request, tmp_path):
    content, cause = BAD[request.param]
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path, cause


@pytest.mark.parametrize("read", [reference_file.load, sourced_yaml.content])
def test_what_is_wrong_is_one_line(read, bad):
    path, cause = bad
    with pytest.raises(FabricError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(str(path)) and cause in said.replace(
        "a key is a list or a mapping", ""
    ), said
    assert "\n" not in said and said.isprintable() and len(said) < 500


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(
        yaml_file.YamlError,
        match=re.escape(f"{tmp_path}/a.yaml: cannot be read: not a regular file"),
    ):
        yaml_file.load(tmp_path / "a.yaml")


def test_a_large_file_is_none_that_somebody_wrote(tmp_path):
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(yaml_file.YamlError, match="larger than 16 MiB"):
        yaml_file.load(path)


def test_what_people_write_is_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("more: {a: 1, b: [{d: 2026-01-31}]}\n")
    found = yaml_file.load(path)
    assert found["more"]["a"] == 1 and found["more"]["b"][0]["d"].year == 2026


HUGE = "A: {$index: [layout], 1x2: {m: [1" + "0" * 400 + ", -0.1, 0.1, us]}}\n"


@pytest.mark.parametrize(
    "text",
    ["1: 2\n", "2026-01-01: {}\n", "no_reference: 5\n", "evidence: {a: 1}\n", HUGE],
)
def test_reference_files_whose_values_are_none(text, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(FabricError) as caught:
        reference_file.load(path)
    assert str(caught.value).startswith(f"{path}:") and len(str(caught.value)) < 500
