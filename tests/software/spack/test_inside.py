# SPDX-License-Identifier: BSD-3-Clause
"""The script that Spack's Python runs, with stand-ins for Spack's modules; `test_for_real.py` has the real ones."""

import json
import runpy
import sys
from types import ModuleType, SimpleNamespace

import pytest

from fabric_checks.software.spack.tool import INSIDE


@pytest.fixture
def ask(monkeypatch, capsys):
    """Return a function that asks a question of a Spack of which some things are so."""

    def asked(question, **modules):
        spack = ModuleType("spack")
        spack.get_version = lambda: "1.1.0 (abc)"
        monkeypatch.setitem(sys.modules, "spack", spack)
        for name in ("config", "environment", "repo", "stage", "traverse", "verify"):
            module = ModuleType(f"spack.{name}")
            vars(module).update(modules.get(name, {}))
            setattr(spack, name, module)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(sys, "argv", [str(INSIDE), question])
        runpy.run_path(str(INSIDE), run_name="__main__")
        return json.loads(capsys.readouterr().out)

    return asked


def test_what_decides(ask):
    config = {"SECTION_SCHEMAS": {"packages": {}, "config": {}}, "get": lambda name: {"section": name}}
    repositories = [SimpleNamespace(namespace="mine", root="/mine"), SimpleNamespace(namespace="builtin", root="/all")]
    answer = ask(
        "decides",
        config=config,
        repo={"PATH": SimpleNamespace(repos=repositories)},
        stage={"get_stage_root": lambda: "/stage"},
    )
    assert answer == {
        "release": "1.1.0 (abc)",
        "config": {"config": {"section": "config"}, "packages": {"section": "packages"}},
        "repositories": [["mine", "/mine"], ["builtin", "/all"]],
        "stage": "/stage",
    }


def installed(ask, prefix, errors, **spec):
    """Ask what stands of one package of which its manifest says some errors."""
    node = SimpleNamespace(**{"name": "imb", "prefix": str(prefix), "external": False, "dag_hash": lambda: "h", **spec})
    environment = SimpleNamespace(concrete_roots=lambda: [node])
    return ask(
        "installed",
        environment={"active_environment": lambda: environment},
        traverse={"traverse_nodes": lambda roots, deptype: roots},
        verify={"check_spec_manifest": lambda spec: SimpleNamespace(errors=errors)},
    )


def test_what_is_lost_is_what_makes_another_file(ask, tmp_path):
    errors = {
        "/p/a": ["owner", "group", "mode", "mtime"],
        "/p/new": ["added"],
        "/p/c": ["size", "mtime", "hash"],
        "/p/b": ["deleted"],
    }
    (found,) = installed(ask, tmp_path, errors)
    assert found == {"name": "imb", "hash": "h", "prefix": str(tmp_path), "lost": ["/p/b", "/p/c"], "cached": False}


def test_a_prefix_that_is_gone(ask, tmp_path):
    (found,) = installed(ask, tmp_path / "gone", {})
    assert found["lost"] == [str(tmp_path / "gone")]


def test_what_is_from_a_build_cache(ask, tmp_path):
    (tmp_path / ".spack").mkdir()
    (tmp_path / ".spack/binary_distribution").touch()
    (found,) = installed(ask, tmp_path, {})
    assert found["cached"] is True


def test_an_external_is_none_of_spacks(ask, tmp_path):
    assert installed(ask, tmp_path, {"/p": ["deleted"]}, external=True) == []
