# SPDX-License-Identifier: BSD-3-Clause
"""Describe a system as data, as far as values of checks depend on it, to recompute them on another machine.

    python -m fabric_checks.reframe_ext.describing SYSTEM FILE

writes it as JSON, in a process of its own because ReFrame has one system per process. :func:`configuration` turns it
into a configuration of ReFrame, with which nothing can be run.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt
from reframe.core.exceptions import ReframeError

from fabric_checks.core.errors import RecordError
from fabric_checks.core.paths import name_is_sound
from fabric_checks.reframe_ext import internals

#: The numbers among a partition's extras that checks read, with an upper bound of each; and the lists.
NUMBERS = {
    "nodes": 1e6,
    "cores": 1e5,
    "link_MBps": 1e9,
    "nics": 1000,
    "largest_work_B": 1e12,
    "most_work_tasks": 1e9,
}
LISTS = ("layouts", "ppn", "fabric", "launch_options")
#: Bounds on lists and strings, far above those of real systems.
MOST_ITEMS, MOST_CHARACTERS = 500, 2000
#: Braces in the command of a program, other than its placeholders.
_BRACES = re.compile(r"\{(?!(?:benchmark|folder)\})[^{}]*\}?|(?<!\{benchmark)(?<!\{folder)\}")


def describe(name: str) -> dict[str, Any]:
    """Return the description of a system of this clone's configuration."""
    internals.take_own_system(name)
    system = rt.runtime().system
    environs = {environ.name: environ for partition in system.partitions for environ in partition.environs}
    partitions = []
    for partition in system.partitions:
        cores = partition.extras.get("cores") or partition.processor.num_cores
        known = (*NUMBERS, *LISTS, "oversubscribed", "program_options", "topology")
        extras = {key: partition.extras[key] for key in known if key in partition.extras}
        partitions.append(
            {
                "name": partition.name,
                "features": list(partition.features),
                "extras": extras | ({"cores": cores} if cores else {}),
                "environs": [environ.name for environ in partition.environs],
                "scheduler": partition.scheduler.registered_name,
                "launcher": partition.launcher_type.registered_name,
            }
        )
    return {
        "name": system.name,
        "partitions": partitions,
        "environments": [
            {
                "name": environ.name,
                "features": list(environ.features),
                "programs": environ.extras.get("programs", {}),
                "without": environ.extras.get("without", {}),
                "blocking_wait": environ.extras.get("blocking_wait", {}),
            }
            for environ in environs.values()
        ],
    }


def configuration(data: Any, folder: Path, topology: Path) -> dict[str, Any]:
    """Return a configuration of ReFrame for a description from another site.

    Only known keys are used, within bounds, and nothing of it is ever started.

    :param folder: for ReFrame's folders.
    :param topology: the folder of the files that ``topology`` names.
    :raises RecordError: if the description is malformed.
    """
    try:
        system = {
            "name": _name(data["name"]),
            "hostnames": ["no-such-host[.]invalid"],
            "prefix": str(folder),
            "partitions": [_partition(each, topology) for each in _list(data["partitions"])],
        }
        environments = [_environment(each) for each in _list(data["environments"])]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"the description of the system is malformed ({type(error).__name__}: {error})") from None
    return {"systems": [system], "environments": environments}


def _partition(data: Mapping[str, Any], topology: Path) -> dict[str, Any]:
    given = data["extras"]
    extras: dict[str, Any] = {key: given[key] for key in NUMBERS if given.get(key) is not None}
    for key, value in extras.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= NUMBERS[key]:
            raise ValueError(f"{key} is {value!r:.40}")
    for key in LISTS:
        if key in given:
            extras[key] = [each if isinstance(each, int) else _text(each) for each in _list(given[key])]
    if "program_options" in given:
        extras["program_options"] = {
            _text(program): _texts(options) for program, options in given["program_options"].items()
        }
    if "topology" in given:
        # Files of the bundle; no path leads elsewhere.
        extras["topology"] = [str(topology / Path(each).name) for each in _texts(given["topology"])]
    return {
        "name": _name(data["name"]),
        "scheduler": "local",
        "launcher": "local",
        "environs": [_name(each) for each in _list(data["environs"])],
        "features": _texts(data["features"]),
        "extras": extras | {"oversubscribed": bool(given.get("oversubscribed"))},
    }


def _environment(data: Mapping[str, Any]) -> dict[str, Any]:
    programs = {_text(suite): _program(program) for suite, program in data["programs"].items()}
    texts = {key: {_text(k): _text(v) for k, v in data[key].items()} for key in ("without", "blocking_wait")}
    return {
        "name": _name(data["name"]),
        "features": _texts(data["features"]),
        "extras": {"programs": programs, **texts},
    }


def _program(data: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, str):
            values[_text(key)] = _BRACES.sub("", _text(value).replace("{view}", "/view"))
        elif isinstance(value, int | float) and abs(value) < 1e12:
            values[_text(key)] = value
    # There is no Spack build here.
    return values | {"stack": "kept"}


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list) or len(data) > MOST_ITEMS:
        raise ValueError(f"{data!r:.40} is not a list of at most {MOST_ITEMS} items")
    return data


def _texts(data: Any) -> list[str]:
    return [_text(each) for each in _list(data)]


def _text(data: Any) -> str:
    if not isinstance(data, str) or len(data) > MOST_CHARACTERS:
        raise ValueError(f"{data!r:.40} is not a string of at most {MOST_CHARACTERS} characters")
    return data


def _name(data: Any) -> str:
    if not name_is_sound(_text(data)):
        raise ValueError(f"{data!r:.40} is not a name")
    return str(data)


def main() -> None:
    """Write the description of the system that the command line names."""
    name, path = sys.argv[1:]
    try:
        content = describe(name)
    except ReframeError as error:
        sys.exit(f"{name}: {error}".splitlines()[0])
    Path(path).write_text(json.dumps(content))


if __name__ == "__main__":
    main()
