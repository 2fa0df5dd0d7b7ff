# SPDX-License-Identifier: BSD-3-Clause
"""Packages that add verbs and sections: found by name, and nothing else of the folder is loaded."""

import sys

import pytest

from fabric_checks.core import plugins

PLUGIN = """
VERBS = {"weigh": ("Look closer", "fabric_scales.cli", "Weigh the fabric.")}
REPORT_SECTIONS = ("fabric_scales.section",)
"""


@pytest.fixture
def scales(tmp_path, monkeypatch):
    """A folder with a plugin, a package of another name, and one of that kind without a plugin."""
    for name in ("fabric_scales", "other_scales", "fabric_plain"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "fabric_scales/plugin.py").write_text(PLUGIN)
    (tmp_path / "fabric_scales/section.py").write_text(
        "def section(*_): return 'a section'\n"
    )
    (tmp_path / "other_scales/plugin.py").write_text("raise RuntimeError('loaded')\n")
    monkeypatch.setattr(plugins, "FOLDER", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.plugins.cache_clear()
    yield
    plugins.plugins.cache_clear()
    for name in [name for name in sys.modules if name.startswith("fabric_scales")]:
        del sys.modules[name]


def test_a_package_of_that_name_adds_its_verb_and_its_section(scales):
    assert plugins.verbs() == {
        "weigh": ("Look closer", "fabric_scales.cli", "Weigh the fabric.")
    }
    assert [module.section() for module in plugins.report_sections()] == ["a section"]


def test_the_packages_of_the_collection_are_plugins():
    assert {"offers", "profile", "replay", "twin"} <= set(plugins.verbs())
