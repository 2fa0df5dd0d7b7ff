# SPDX-License-Identifier: BSD-3-Clause
"""Two lines include a fragment; ReFrame itself says what then holds for which system."""

import runpy

import pytest
from reframe.core.config import load_config
from reframe.core.exceptions import ConfigError

from fabric_checks.errors import RecordError
from fabric_checks.reframe_ext.handlers import create_http_handler
from fabric_checks.results.perflogs.fragments import TEMPLATES, fragment, include
from tests.conftest import TESTS

NAMES = ("csv", "opensearch", "prometheus", "pushgateway", "sqlite", "victoriametrics")


@pytest.fixture
def site(tmp_path):
    """Return a function that adds a site to the shipped configuration and returns what ReFrame makes of it."""

    def make(lines, system):
        file = tmp_path / "site.py"
        file.write_text(
            "import runpy\n"
            f"site_configuration = runpy.run_path({str(TESTS / 'settings.py')!r})['site_configuration']\n"
            "from fabric_checks.results.perflogs.fragments import fragment, include\n" + lines
        )
        config = load_config("<builtin>", str(file))
        config.validate()
        config.select_subconfig(system)
        return config

    return make


def types(config):
    return [handler["type"] for handler in config.get("logging/0/handlers_perflog")]


def test_there_is_a_fragment_for_each_store_and_each_explains_its_settings(monkeypatch):
    assert tuple(sorted(path.stem for path in TEMPLATES.glob("*.py"))) == NAMES
    for name in NAMES:
        monkeypatch.setenv(f"FABRIC_{name.upper()}_URL", "http://a.example")
        assert fragment(name)
        made = runpy.run_path(str(TEMPLATES / f"{name}.py"))["fragment"]
        for setting in made.__code__.co_varnames[: made.__code__.co_argcount]:
            assert f":param {setting}:" in made.__doc__, (name, setting)


def test_without_a_fragment_there_are_the_json_lines_alone(site):
    assert types(site("", "local")) == ["jsonlines"]


def test_the_json_lines_stay_and_come_first(site):
    lines = "include(site_configuration, fragment('csv'), fragment('victoriametrics', url='http://a.example'))\n"
    for system in ("local", "minicluster"):
        config = site(lines, system)
        assert types(config) == ["jsonlines", "csv", "http"]
        assert config.get("logging/0/handlers_perflog/2/settings")["url"] == "http://a.example"


def test_a_fragment_of_a_system_is_for_it_alone(site):
    lines = (
        "include(site_configuration, fragment('csv'), systems=['local'])\n"
        "include(site_configuration, fragment('sqlite', path='/a/results.db'), systems=['local'])\n"
        "include(site_configuration, fragment('csv', basedir='/second'), systems=['local', 'minicluster'])\n"
    )
    local, other, third = site(lines, "local"), site(lines, "minicluster"), site(lines, "cbc")
    assert types(local) == ["jsonlines", "csv", "csv"]
    assert local.get("storage/0/enable") is True and local.get("storage/0/sqlite_db_file") == "/a/results.db"
    assert types(other) == ["jsonlines", "csv"] and other.get("storage/0/enable") is False
    assert types(third) == ["jsonlines"]


def test_a_file_of_a_system_may_have_fragments(tmp_path):
    """The real configuration collects them; the settings are copied with one more system beside the shipped ones."""
    config = tmp_path / "config"
    for folder in ("environments", "systems"):
        (config / folder).mkdir(parents=True)
        for file in (TESTS.parent / "config" / folder).glob("*.py"):
            (config / folder / file.name).symlink_to(file)
    (config / "settings.py").write_text((TESTS.parent / "config/settings.py").read_text())
    (config / "systems/yours.py").write_text(
        "from fabric_checks.results.perflogs.fragments import fragment\n"
        "perflogs = [fragment('csv')]\n"
        "systems = [{'name': 'yours', 'hostnames': ['yours'], 'partitions': [{'name': 'p', 'scheduler': 'local',\n"
        "            'launcher': 'local', 'environs': [], 'extras': {'nodes': 1, 'cores': 1}}]}]\n"
    )
    made = load_config("<builtin>", str(config / "settings.py"))
    for system, wanted in (("yours", ["jsonlines", "csv"]), ("local", ["jsonlines"])):
        made.select_subconfig(system)
        assert types(made) == wanted


def test_a_site_s_own_fragment_is_a_file(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("def fragment(kind):\n    return {'handlers_perflog': [{'type': kind}]}\n")
    configuration = {}
    include(configuration, fragment(str(file), kind="csv"))
    assert configuration == {"logging": [{"handlers_perflog": [{"type": "csv"}]}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such fragment; there are csv, opensearch"),
        ("", "defines no function 'fragment'"),
        (
            "def fragment():\n    return {'handlers': []}",
            "the fragment has 'handlers'; it may have handlers_perflog and",
        ),
        ("def fragment(other):\n    return {}", "missing 1 required positional argument: 'other'; the file says"),
    ],
)
def test_a_wrong_fragment_is_an_error_that_says_so(tmp_path, content, message):
    file = tmp_path / "own.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(RecordError, match=message) as wrong:
        fragment(str(file))
    assert str(wrong.value).startswith(f"{file}: ")


def test_a_store_without_an_address_is_an_error_on_its_system_only(site):
    lines = "include(site_configuration, fragment('opensearch'), systems=['minicluster'])\n"
    assert types(site(lines, "local")) == ["jsonlines"]
    with pytest.raises(ConfigError, match="opensearch: no address; set FABRIC_OPENSEARCH_URL"):
        create_http_handler(site(lines, "minicluster"), "logging/0/handlers_perflog/1")


def test_reframe_has_one_database():
    configuration = {}
    with pytest.raises(RecordError, match="two fragments bring a storage"):
        include(configuration, fragment("sqlite"), fragment("sqlite", path="/b"))
    include(configuration, fragment("sqlite"))
    with pytest.raises(RecordError, match="two fragments bring a storage"):
        include(configuration, fragment("sqlite"))
