# SPDX-License-Identifier: BSD-3-Clause
"""A system as data: everything that a check's values depend on, to recompute them away from the machine.

    python -m fabric_checks.reframe_ext.describing SYSTEM FILE

writes it as JSON, in a process of its own as ReFrame has one system a process. :func:`configuration` makes a
configuration of ReFrame of it, with which nothing can be run.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt
from reframe.core.exceptions import ReframeError

from fabric_checks.core.errors import RecordError
from fabric_checks.core.paths import ROOT, name_is_sound
from fabric_checks.reframe_ext import internals

#: The numbers of a partition's extras that checks read, the most that each may be, and their texts.
NUMBERS = {
    "nodes": 1e6,
    "cores": 1e5,
    "link_MBps": 1e9,
    "nics": 1000,
    "largest_work_B": 1e12,
    "most_work_tasks": 1e9,
}
LISTS = ("layouts", "ppn", "fabric", "launch_options")
#: The most items of a list, letters of a text, partitions and environments; no system comes near.
MOST_ITEMS, LONGEST, MOST_NAMES = 500, 2000, 50
#: The command of a program may have these to be filled in, and no other braces.
_BRACES = re.compile(r"\{(?!(?:benchmark|folder)\})[^{}]*\}?|(?<!\{benchmark)(?<!\{folder)\}")


def describe(name: str) -> dict[str, Any]:
    """Return the description of a system of this clone's configuration."""
    files = os.environ.get("RFM_CONFIG_FILES") or str(ROOT / "config" / "settings.py")
    internals.take_system(files.split(os.pathsep), name)
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

    Only known keys pass, within bounds, and nothing of it is ever started.

    :param folder: for ReFrame's folders.
    :param topology: the folder of the files that ``topology`` names.
    :raises RecordError: if it is no description.
    """
    try:
        partitions = [_partition(each, topology) for each in _few(data["partitions"])]
        environments = [_environment(each) for each in _few(data["environments"])]
        system = {
            "name": _name(data["name"]),
            "hostnames": ["no-such-host[.]invalid"],
            "prefix": str(folder),
            "partitions": partitions,
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"the description of the system cannot be used ({type(error).__name__}: {error})") from None
    return {"systems": [system], "environments": environments}


def _partition(data: Mapping[str, Any], topology: Path) -> dict[str, Any]:
    given = data["extras"]
    extras: dict[str, Any] = {}
    for key, most in NUMBERS.items():
        if (value := given.get(key)) is not None:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
                raise ValueError(f"{key} is {value!r:.40}")
            extras[key] = value
    for key in LISTS:
        if key in given:
            extras[key] = [each if isinstance(each, int) else _text(each) for each in _few(given[key], MOST_ITEMS)]
    if "program_options" in given:
        extras["program_options"] = {
            _text(program): [_text(each) for each in _few(options, MOST_ITEMS)]
            for program, options in given["program_options"].items()
        }
    if "topology" in given:
        # The names are those of the bundle; no path leads elsewhere.
        extras["topology"] = [str(topology / Path(_text(each)).name) for each in _few(given["topology"], MOST_ITEMS)]
    return {
        "name": _name(data["name"]),
        "scheduler": "local",
        "launcher": "local",
        "environs": [_name(each) for each in _few(data["environs"])],
        "features": [_text(each) for each in _few(data["features"], MOST_ITEMS)],
        "extras": extras | {"oversubscribed": bool(given.get("oversubscribed"))},
    }


def _environment(data: Mapping[str, Any]) -> dict[str, Any]:
    programs = {_text(suite): _program(program) for suite, program in data["programs"].items()}
    texts = {key: {_text(k): _text(v) for k, v in data[key].items()} for key in ("without", "blocking_wait")}
    features = [_text(each) for each in _few(data["features"], MOST_ITEMS)]
    return {"name": _name(data["name"]), "features": features, "extras": {"programs": programs, **texts}}


def _program(data: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, str):
            values[_text(key)] = _BRACES.sub("", _text(value).replace("{view}", "/view"))
        elif isinstance(value, int | float) and abs(value) < 1e12:
            values[_text(key)] = value
    # A Spack build is not at hand.
    return values | {"stack": "kept"}


def _few(data: Any, most: int = MOST_NAMES) -> list[Any]:
    if not isinstance(data, list) or len(data) > most:
        raise ValueError(f"it is not a list of at most {most} items")
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str) or len(data) > LONGEST:
        raise ValueError(f"{data!r:.40} is not a short string")
    return data


def _name(data: Any) -> str:
    if not isinstance(data, str) or not name_is_sound(data):
        raise ValueError(f"{data!r:.40} is not a name")
    return data


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
