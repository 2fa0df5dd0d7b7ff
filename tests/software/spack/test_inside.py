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
    """Return a function that asks a question of a Spack with some attributes of its modules."""

    def asked(question, **modules):
        spack = ModuleType("spack")
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


def test_the_configuration_has_repositories_mirrors_and_stage(ask):
    repositories = [SimpleNamespace(namespace="mine", root="/mine"), SimpleNamespace(namespace="builtin", root="/all")]
    answer = ask(
        "configured",
        config={"get": {"mirrors": {"site": "https://x"}}.get},
        repo={"PATH": SimpleNamespace(repos=repositories)},
        stage={"get_stage_root": lambda: "/stage"},
    )
    assert answer == {
        "repositories": {"mine": "/mine", "builtin": "/all"},
        "mirrors": {"site": "https://x"},
        "stage": "/stage",
    }


@pytest.fixture
def installed(ask, tmp_path):
    """Return a function that asks for the state of one package, given the errors in its manifest."""

    def asked(errors, prefix=tmp_path, external=False):
        node = SimpleNamespace(name="imb", prefix=str(prefix), external=external, dag_hash=lambda: "h")
        environment = SimpleNamespace(concrete_roots=lambda: [node])
        return ask(
            "installed",
            environment={"active_environment": lambda: environment},
            traverse={"traverse_nodes": lambda roots, deptype: roots},
            verify={"check_spec_manifest": lambda spec: SimpleNamespace(errors=errors)},
        )

    return asked


def test_other_owners_and_new_files_are_no_loss(installed, tmp_path):
    harmless = {"/p/a": ["owner", "group", "mode", "mtime"], "/p/new": ["added"]}
    (found,) = installed(harmless | {"/p/c": ["size", "mtime", "hash"], "/p/b": ["deleted"]})
    assert found == {"name": "imb", "hash": "h", "prefix": str(tmp_path), "lost": ["/p/b", "/p/c"], "cached": False}
    (found,) = installed({}, tmp_path / "gone")
    assert found["lost"] == [str(tmp_path / "gone")]


def test_a_cached_package_is_marked_and_an_external_not_listed(installed, tmp_path):
    (tmp_path / ".spack").mkdir()
    (tmp_path / ".spack/binary_distribution").touch()
    (found,) = installed({})
    assert found["cached"] is True
    assert installed({"/p": ["deleted"]}, external=True) == []
