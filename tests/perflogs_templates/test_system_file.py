# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own handlers and database, in the file of a system."""

import re

from reframe.core.config import load_config

from tests.conftest import ROOT


def types(config, system):
    config.select_subconfig(system)
    return [
        handler["type"] for handler in config.get("logging/0/handlers_perflog")
    ], config.get("storage/0/enable")


def test_handlers_and_storage_of_the_readme_hold_for_their_system_alone(tmp_path):
    """The real configuration collects them; the settings are copied, with one system more."""
    config = tmp_path / "config"
    for folder in ("environments", "systems"):
        (config / folder).mkdir(parents=True)
        for file in (ROOT / "config" / folder).glob("*.py"):
            (config / folder / file.name).symlink_to(file)
    for name in ("settings.py", "library.py"):
        (config / name).write_text((ROOT / "config" / name).read_text())
    lines = re.findall(
        r"^    ((?:handlers_perflog|storage) = .*)",
        (ROOT / "perflogs-templates/README.md").read_text(),
        re.M,
    )
    assert len(lines) == 2
    (config / "systems/yours.py").write_text(
        "systems = [{'name': 'yours', 'hostnames': ['yours'], 'partitions': [{'name': 'p', 'scheduler':"
        " 'local',\n            'launcher': 'local', 'environs': [], 'extras': {'nodes': 1, 'cores': 1}}]}]\n"
        + "\n".join(lines)
    )
    made = load_config("<builtin>", str(config / "settings.py"))
    made.validate()
    assert types(made, "yours") == (["jsonlines", "httpjson"], True)
    assert made.get("logging/0/handlers$/0/name") == "stdout"
    assert types(made, "local") == (["jsonlines"], False)
