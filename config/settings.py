# SPDX-License-Identifier: BSD-3-Clause
"""The one ReFrame configuration: it collects the systems and environments beside it."""

# ruff: noqa: E402  (the library has to be found before it is imported)

import re
import runpy
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from reframe.core.exceptions import ConfigError
from reframe.core.logging import register_log_handler

HERE = Path(__file__).resolve().parent


def take_library(name):
    """Load a package of the clone that this file is in: it is installed nowhere, and a shell may have another's.

    A copy of this folder elsewhere takes the one that Python finds. (sys.path must not grow while ReFrame loads this:
    it then takes away by its position what it has appended, and would take something else.)
    """
    package = HERE.parent / name / "__init__.py"
    if name not in sys.modules and package.is_file():
        spec = spec_from_file_location(name, package)
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    elif find_spec(name) is None:
        raise ConfigError(f"{HERE}: there is no library {name} beside it, nor where Python looks")
    loaded = Path(sys.modules[name].__file__) if name in sys.modules else package
    if package.is_file() and loaded.resolve() != package:
        raise ConfigError(f"{HERE}: the library that is in use is another clone's, {loaded.parent}")


take_library("fabric_checks")
take_library("fabric_twins")

from fabric_checks.reframe_ext.internals import require_reframe

require_reframe()

from fabric_checks.errors import FabricError
from fabric_checks.levels import modes
from fabric_checks.paths import home, results
from fabric_checks.reframe_ext import handlers, launchers  # noqa: F401  (they register)
from fabric_checks.reframe_ext.mixins.perflog import PerflogHandler
from fabric_checks.reframe_ext.schedulers import flux, lsf, slurm  # noqa: F401  (they register)
from fabric_checks.results.sessions import session_id
from fabric_checks.software.stacks import environments_for


@register_log_handler("jsonlines")
def create_jsonlines_handler(site_config, config_prefix):
    """Make the handler that writes the perflog."""
    return PerflogHandler(Path(site_config.get(f"{config_prefix}/basedir")))


def collect():
    """Return the systems and the environments that the files of both folders define, in the order of their names.

    A file of a system may define environments too, so that a site needs one file, and ReFrame's `handlers_perflog` and
    `storage`: where its results go beside the JSON lines. These come with the names of the file's systems.
    """
    found = {"systems": [], "environments": []}
    perflogs, storage = [], []
    for folder in ("environments", "systems"):
        for file in sorted((HERE / folder).glob("*.py")):
            try:
                defined = runpy.run_path(str(file))
            except FabricError as error:
                raise ConfigError(str(error)) from None
            if folder not in defined:
                raise ConfigError(f"{file}: defines no list {folder!r}")
            for kind in found:
                found[kind] += defined.get(kind, [])
            names = {"target_systems": [system["name"] for system in defined.get("systems", [])]}
            if "handlers_perflog" in defined:
                perflogs.append({"handlers_perflog": defined["handlers_perflog"], **names})
            storage += [{**entry, **names} for entry in defined.get("storage", [])]
    return found["systems"], found["environments"], perflogs, storage


def require_own_names(items, folder):
    """Refuse two of one name: ReFrame would take one of them without a word."""
    names = [(item["name"], *item.get("target_systems", ())) for item in items]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{HERE / folder}: two files define {name[0]!r}; give one another name")
    return items


def matches_any_machine(system):
    """Tell whether a system's host name patterns fit a name that no machine has."""
    return any(re.match(pattern, "no-such-host.invalid") for pattern in system["hostnames"])


# ReFrame takes the first system whose host name patterns match, so one that matches any machine goes last.
all_systems, environments, more_handlers, storage = collect()
require_own_names(environments, "environments")
systems = sorted(require_own_names(all_systems, "systems"), key=matches_any_machine)
try:
    RESULTS, SESSION, TOPOLOGY = results(), session_id(), home() / "topology"
    for system in systems:
        for partition in system["partitions"]:
            partition["environs"] = environments_for(system["name"], partition["environs"], environments)
        # A session has folders of its own: ReFrame empties a case's folder before it runs, whoever else is using it.
        system.setdefault("stagedir", str(RESULTS / "stage" / SESSION))
        system.setdefault("outputdir", str(RESULTS / "output" / SESSION))
except FabricError as error:
    raise ConfigError(str(error)) from None
(RESULTS / "logs").mkdir(parents=True, exist_ok=True)
JSON_LINES = {"type": "jsonlines", "level": "info", "basedir": str(RESULTS / "perflogs")}

site_configuration = {
    "systems": systems,
    "environments": environments,
    "modes": modes(),
    "general": [
        {
            "check_search_recursive": True,
            # ReFrame takes the next free number when a session ends: two that end at once would take the same.
            "report_file": str(RESULTS / "reports" / f"run-report-{SESSION}-{{sessionid}}.json"),
            "topology_prefix": str(TOPOLOGY),
            "keep_stage_files": False,
            # A line for each value goes to the log; thousands of them are nothing to read as they scroll by.
            "perf_info_level": "verbose",
            "colorize": sys.stdout.isatty(),
        }
    ],
    "logging": [
        {
            "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
            "handlers": [
                {
                    "type": "file",
                    # The report names its log files, which is how it is found again by session.
                    "name": str(RESULTS / "logs" / f"{SESSION}.log"),
                    "level": "debug",
                    "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                    # Several processes may share a session, as the jobs of a child pipeline do.
                    "append": True,
                }
            ],
            "handlers_perflog": [JSON_LINES],
        },
        # ReFrame takes these of a system's own entry instead of the general ones.
        *({**more, "handlers_perflog": [JSON_LINES, *more["handlers_perflog"]]} for more in more_handlers),
    ],
    "storage": storage,
}
