# SPDX-License-Identifier: BSD-3-Clause
"""The one ReFrame configuration: it collects the systems and environments beside it."""

# ruff: noqa: E402  (the library has to be found before it is imported)

import argparse
import errno
import os
import re
import runpy
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from reframe.core.exceptions import ConfigError

HERE = Path(__file__).resolve().parent


def take_library(name):
    """Load a package of the clone that this file is in: it is installed nowhere, and a shell may have another's.

    A copy of this folder elsewhere takes the one that Python finds. (sys.path must not grow while ReFrame loads this:
    it then takes away by its position what it has appended, and would take something else.)
    """
    package = HERE.parent / "src" / name / "__init__.py"
    if name not in sys.modules and package.is_file():
        spec = spec_from_file_location(name, package)
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    elif find_spec(name) is None:
        raise ConfigError(f"{HERE}: the library {name} is neither beside it nor where Python looks")
    loaded = Path(sys.modules[name].__file__) if name in sys.modules else package
    if package.is_file() and loaded.resolve() != package:
        raise ConfigError(f"{HERE}: the library in use belongs to another clone, {loaded.parent}")


take_library("fabric_checks")
take_library("fabric_twins")

from fabric_checks.reframe_ext.internals import require_reframe

require_reframe()

from fabric_checks.core.errors import FabricError
from fabric_checks.core.levels import modes
from fabric_checks.core.paths import home, results, sound_path
from fabric_checks.records.sessions import session_id
from fabric_checks.reframe_ext import handlers  # noqa: F401  (they register)
from fabric_checks.schedulers import launchers, reservations  # noqa: F401  (launchers register)
from fabric_checks.schedulers.flux import scheduler as flux  # noqa: F401
from fabric_checks.schedulers.lsf import scheduler as lsf  # noqa: F401
from fabric_checks.schedulers.pbs import scheduler as pbs  # noqa: F401
from fabric_checks.schedulers.slurm import scheduler as slurm  # noqa: F401
from fabric_checks.software.stacks import environments_for


def prefix():
    """Return where results go: where ReFrame's --prefix or RFM_PREFIX says, or else below the clone or its home.

    ReFrame puts stage and output there by itself, and reports and logs where this file says; so it has to know.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--prefix", default=os.environ.get("RFM_PREFIX"))
    try:
        told = parser.parse_known_args(sys.argv[1:])[0].prefix
    except argparse.ArgumentError:
        told = None  # ReFrame itself says that the option lacks a value
    return sound_path("the prefix", os.path.expandvars(told)) if told else results()


def has_room(folder):
    """Tell whether the folder of results can be written; a run has to, and a clone may be somebody else's."""
    try:
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        fault = None if os.access(folder / "logs", os.W_OK) else os.strerror(errno.EACCES)
    except OSError as error:
        fault = error.strerror
    if fault and any(re.fullmatch(r"-[a-zA-Z]*r[a-zA-Z]*|--run|--dry-run", word) for word in sys.argv[1:]):
        raise ConfigError(
            f"results cannot be written to {folder} ({fault}): name a folder of your own with --prefix FOLDER or "
            "FABRIC_RESULTS"
        )
    return fault is None


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
    RESULTS, SESSION = prefix(), session_id()
    TOPOLOGY = (home() if os.access(home(), os.W_OK) else RESULTS) / "topology"
    for system in systems:
        for partition in system["partitions"]:
            if reservation := reservations.asked_for():
                access = partition.get("access", [])
                partition["access"] = reservations.access_with(access, partition["scheduler"], reservation)
            if nodes := reservations.nodes_asked_for():
                reservations.confine(partition, nodes)
            partition["environs"] = environments_for(system["name"], partition["environs"], environments)
        # A session has folders of its own: ReFrame empties a case's folder before it runs, whoever else is using it.
        system.setdefault("prefix", str(RESULTS))
        system.setdefault("stagedir", str(RESULTS / "stage" / SESSION))
        system.setdefault("outputdir", str(RESULTS / "output" / SESSION))
except FabricError as error:
    raise ConfigError(str(error)) from None
LOG = RESULTS / "logs" / f"{SESSION}.log" if has_room(RESULTS) else os.devnull
LOCAL = [system["name"] for system in systems if all(part["scheduler"] == "local" for part in system["partitions"])]
JSON_LINES = {"type": "jsonlines", "level": "info"}

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
        },
        # Ten times a second, all the time. By itself ReFrame asks ever more seldom, every few seconds in the end, as is
        # right for a batch system; but to see whether a process of this host has ended costs nothing.
        {"target_systems": LOCAL, "poll_rate_decay": 0},
    ],
    "logging": [
        {
            "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
            "handlers": [
                {
                    "type": "file",
                    # The report names its log files, which is how it is found again by session.
                    "name": str(LOG),
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
