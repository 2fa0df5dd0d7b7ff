# SPDX-License-Identifier: BSD-3-Clause
"""The script that Spack's Python runs, with stand-ins for Spack's modules; `test_for_real.py` has the real
ones."""

import json
import runpy
import sys
from types import ModuleType, SimpleNamespace

from fabric_checks.software.spack.tool import INSIDE


def test_the_answer_has_the_folder_of_each_repository(monkeypatch, capsys):
    spack, repo = ModuleType("spack"), ModuleType("spack.repo")
    spack.repo = repo
    repositories = [
        SimpleNamespace(namespace="mine", root="/mine"),
        SimpleNamespace(namespace="builtin", root="/all"),
    ]
    repo.PATH = SimpleNamespace(repos=repositories)
    monkeypatch.setitem(sys.modules, "spack", spack)
    monkeypatch.setitem(sys.modules, "spack.repo", repo)
    runpy.run_path(str(INSIDE))
    assert json.loads(capsys.readouterr().out) == {"mine": "/mine", "builtin": "/all"}
