# SPDX-License-Identifier: BSD-3-Clause
"""The ReFrame configuration, collected from a folder with a file for each system and for each set of
environments.

A file ``systems/NAME.py`` defines a list ``systems``, a file ``environments/NAME.py`` a list
``environments``. A file of a system may define environments too, so that a site needs one file, and ReFrame's
``handlers_perflog`` and ``storage``, the destinations of its results in addition to the JSON lines. These
apply to the file's systems.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import runpy
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from fabric_checks.core.errors import FabricError
from fabric_checks.core.levels import modes
from fabric_checks.core.paths import home, results, sound_path
from fabric_checks.core.schema import near
from fabric_checks.records.sessions import session_id
from fabric_checks.reframe_ext import handlers, internals  # noqa: F401  (handlers register)
from fabric_checks.software.stacks import environments_for

#: A run does not begin with less room than this for its results.
_LEAST_ROOM_B = 64 * 2**20

_JSON_LINES = {"type": "jsonlines", "level": "info"}

#: The folders of files, and the lists that these define.
_KINDS = ("environments", "systems")

Data = dict[str, Any]


@internals.where_called()
def configuration(folder: Path, ask_for_nodes: Callable[[Data], None]) -> Data:
    """Return the configuration of all systems and environments of a folder.

    :param ask_for_nodes: adds the reservation and the nodes that the user requests to a partition.
    :raises ConfigError: if a file is at fault, or results cannot be written and this is a run.
    """
    try:
        found = _collected(folder)
        prefix, session = _prefix(), session_id()
        # ReFrame selects the first system whose host name patterns match, so one that matches any machine is
        # the last.
        systems = sorted(found["systems"], key=_matches_any_machine)
        _stand_back(folder / "settings.py", systems, found["environments"])
        for system in systems:
            for partition in system["partitions"]:
                ask_for_nodes(partition)
                partition["environs"] = environments_for(
                    system["name"], partition["environs"], found["environments"]
                )
            # A session has its own folders: ReFrame empties a case's folder before it runs, whoever else is
            # using it.
            system.setdefault("prefix", str(prefix))
            system.setdefault("stagedir", str(prefix / "stage" / session))
            system.setdefault("outputdir", str(prefix / "output" / session))
        topology = (home() if os.access(home(), os.W_OK) else prefix) / "topology"
    except FabricError as error:
        raise ConfigError(str(error)) from None
    local = [
        system["name"]
        for system in systems
        if all(
            part["scheduler"].endswith("local")
            or part["scheduler"].startswith("fabric-in-")
            for part in system["partitions"]
        )
    ]
    general = {
        "check_search_recursive": True,
        # ReFrame uses the next free number at the end of a session: two that end at once would share it.
        "report_file": str(
            prefix / "reports" / f"run-report-{session}-{{sessionid}}.json"
        ),
        "topology_prefix": str(topology),
        "keep_stage_files": False,
        # A line for each value goes to the log only; there are thousands of them.
        "perf_info_level": "verbose",
        "colorize": os.isatty(1),
        # A dry run is no session: it leaves job scripts in the stage folder, no report and no log.
        "generate_file_reports": not _is_dry_run(),
    }
    return {
        "systems": systems,
        "environments": found["environments"],
        "modes": modes(),
        # Ten times a second at all times. By default ReFrame polls less and less often, in the end every few
        # seconds, as is right for a batch system; polling a process of this host costs nothing.
        "general": [general, {"target_systems": local, "poll_rate_decay": 0}],
        "logging": [_logging(prefix, session), *found["logging"]],
        "storage": found["storage"],
    }


def _collected(folder: Path) -> dict[str, list[Data]]:
    """Return the lists that the files define, in the order of their names."""
    found: dict[str, list[Data]] = {
        "systems": [],
        "environments": [],
        "logging": [],
        "storage": [],
    }
    for kind in _KINDS:
        for file in sorted((folder / kind).glob("*.py")):
            defined = _defined(file)
            if kind not in defined:
                raise ConfigError(f"{file}: defines no list {kind!r}")
            _add(found, defined)
    for kind in _KINDS:
        names = Counter(
            (each["name"], *each.get("target_systems", ())) for each in found[kind]
        )
        ((name, *_), count), *_ = names.most_common(1)
        if count > 1:  # ReFrame would use one of them without a warning
            raise ConfigError(
                f"{folder / kind}: two files define {name!r}; give one another name"
            )
    return found


def _defined(file: Path) -> Data:
    """Return what a file defines.

    :raises ConfigError: with the place of whatever it raises: it is a program.
    """
    try:
        return runpy.run_path(str(file))
    except (FabricError, ConfigError):
        raise
    except Exception as error:
        fault = internals.as_config_error(error, [str(file)])
        raise ConfigError(f"{file}: {fault}") from None


def _add(found: dict[str, list[Data]], defined: Data) -> None:
    """Add the lists of a file to those of all; its destinations of results are for its own systems."""
    for kind in _KINDS:
        found[kind] += defined.get(kind, [])
    own = {"target_systems": [each["name"] for each in defined.get("systems", [])]}
    if "handlers_perflog" in defined:
        # ReFrame uses a system's own entry instead of the general one.
        handlers = [_JSON_LINES, *defined["handlers_perflog"]]
        found["logging"].append({"handlers_perflog": handlers, **own})
    found["storage"] += [entry | own for entry in defined.get("storage", [])]


def _stand_back(own: Path, systems: list[Data], environments: list[Data]) -> None:
    """Leave to other files of settings what is theirs; where there are none, refuse unknown names.

    :raises ConfigError: with the names that there are.
    """
    is_first, has_others = _named(own)
    if not is_first:  # the environments of the other files are theirs, also those that have names of ours
        names = [system["name"] for system in systems]
        for environment in environments:
            environment.setdefault("target_systems", names)
    if has_others:
        # A system for any host is one of the other files', in whichever order they are named.
        for system in filter(_matches_any_machine, systems):
            system["hostnames"] = []
    elif is_first:
        _require_names(systems)


def _require_names(systems: list[Data]) -> None:
    if wanted := _system():
        internals.require_system(wanted, systems)
    mode, levels = _option("--mode"), [each["name"] for each in modes()]
    if mode and mode not in levels:
        raise internals.UnknownNameError(
            f"there is no mode {mode!r}; {near(mode, levels)}"
        )


def _matches_any_machine(system: Data) -> bool:
    """Return whether a system's host name patterns match a name that no machine has."""
    return any(
        re.match(pattern, "no-such-host.invalid") for pattern in system["hostnames"]
    )


def is_system_named() -> bool:
    """Return whether ReFrame's command line is given a system, or this is another program, which may want
    any.

    Without, ReFrame looks for the system by host name: those that no host matches need not be described.
    """
    # While a file runs by runpy, sys.argv[0] is that file. A program that sets sys.argv itself may have made
    # it longer.
    program = sys.orig_argv[-len(sys.argv) :][0]
    return bool(_system()) or Path(program).name != "reframe"


def _system() -> str | None:
    system: str | None = _option("--system", default=os.environ.get("RFM_SYSTEM"))
    return system


def _option(*names: str, **how: Any) -> Any:
    """Return the value of an option of ReFrame's command line; None if it lacks one, which ReFrame itself
    reports."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument(*names, dest="value", **how)
    try:
        return parser.parse_known_args(sys.argv[1:])[0].value
    except argparse.ArgumentError:
        return None


def _named(own: Path) -> tuple[bool, bool]:
    """Return whether this is the first configuration that ReFrame is given, and whether there are others."""
    given = _option("-C", "--config-file", action="append")
    names = given or os.environ.get("RFM_CONFIG_FILES", "").split(os.pathsep)
    are_own = [Path(name).resolve() == own for name in names if name]
    if not any(are_own):
        return True, False  # another file or program reads it
    return are_own[0], not all(are_own) or "RFM_CONFIG_PATH" in os.environ


def _prefix() -> Path:
    """Return the folder of results: ReFrame's --prefix or RFM_PREFIX, or else below the clone or its home.

    ReFrame places stage and output there by itself, but reports and logs only by the configuration.
    """
    prefix = _option("--prefix", default=os.environ.get("RFM_PREFIX"))
    return sound_path("the prefix", os.path.expandvars(prefix)) if prefix else results()


def _logging(prefix: Path, session: str) -> Data:
    require_room(prefix / "logs")
    log = {
        "type": "sessionlog",
        # By this name the report is found for a session.
        "name": str(prefix / "logs" / f"{session}.log"),
        "level": "debug",
        "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
    }
    screen = {"type": "stream", "name": "stdout", "level": "info"}
    return {
        "handlers$": [screen | {"format": "%(message)s"}],
        "handlers": [log] if _is_run() else [],
        "handlers_perflog": [_JSON_LINES],
    }


def _is_run() -> bool:
    """Return whether cases are run."""
    return any(
        re.fullmatch(r"-[a-zA-Z]*r[a-zA-Z]*|--run", word) for word in sys.argv[1:]
    )


def _is_dry_run() -> bool:
    """Return whether this is a dry run; ReFrame takes the beginning of an option for it."""
    return any(len(word) > 3 and "--dry-run".startswith(word) for word in sys.argv[1:])


def require_room(folder: Path) -> None:
    """Refuse a run whose folder of results cannot be written; a clone may be another user's.

    :raises ConfigError: with the cause. What runs nothing writes nothing, and is not refused.
    """
    if not (_is_run() or _is_dry_run()):
        return
    fault = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            fault = os.strerror(errno.EACCES)
        elif (room_B := shutil.disk_usage(folder).free) < _LEAST_ROOM_B:
            fault = f"{room_B / 2**20:.0f} MiB are free, and a run needs {_LEAST_ROOM_B / 2**20:.0f}"
    except OSError as error:
        fault = error.strerror
    if fault:
        raise ConfigError(
            f"results cannot be written to {folder.parent} ({fault}): name a folder of your own with --prefix"
            " FOLDER or FABRIC_RESULTS"
        )
